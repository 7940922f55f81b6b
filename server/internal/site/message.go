package site

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/httplog"
)

// Tone is the color of a badge.
type Tone string

// The tones. A badge says in words what its tone shows.
const (
	Good    Tone = "good"
	Bad     Tone = "bad"
	Wait    Tone = "wait"
	Neutral Tone = "neutral"
)

// Badge is a state: colored, and in words.
type Badge struct {
	Tone Tone
	Text string
}

// Message is a page that reports one thing.
type Message struct {
	Badge          Badge
	Headline, Text string
	// Next is the address of the next step, and Action its name. Default: none.
	Next, Action string
	// Menu is the navigation. Default: none.
	Menu *Menu
}

// Message writes a page with a message.
func (s *Site) Message(w http.ResponseWriter, r *http.Request, status int, m Message) {
	s.Render(w, r, Page{Template: s.message, Title: m.Headline, Status: status, Content: m, Menu: m.Menu})
}

// Failed reports that a request failed on the service's side. The cause goes to the log
// alone.
func (s *Site) Failed(w http.ResponseWriter, r *http.Request, err error) {
	if httplog.HungUp(r.Context(), err) {
		w.WriteHeader(httplog.StatusClientClosedRequest)
		return
	}
	s.Logger.ErrorContext(r.Context(), "page failed", slog.String("requestId", httplog.RequestID(r.Context())),
		slog.String("route", r.Pattern), slog.String("error", err.Error()))
	s.Message(w, r, http.StatusInternalServerError, Message{
		Badge: Badge{Bad, "Failed"}, Headline: "Something failed on our side",
		Text: "Nothing was decided. Please try again in a moment. Reference: " + httplog.RequestID(r.Context()),
	})
}

// Missing reports that a link leads to nothing.
func (s *Site) Missing(w http.ResponseWriter, r *http.Request) {
	s.Message(w, r, http.StatusNotFound, Message{
		Badge: Badge{Bad, "Not found"}, Headline: "There is nothing behind this link",
		Text: "It may have been cut off on its way to you. Ask for a new one where you got it.",
	})
}

// MissingOr answers requests of browsers, which ask for HTML, by [Site.Missing], and those of
// programs by api.
func (s *Site) MissingOr(api http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if ForPeople(r) && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			s.Missing(w, r)
			return
		}
		api(w, r)
	}
}

// ForPeople reports whether the client of a request is a browser: it asks for HTML.
func ForPeople(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
