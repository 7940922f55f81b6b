package site

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
	"github.com/paywarrant/paywarrant/internal/retryafter"
)

// View serves GET requests for a path, guarded by host and client address.
func (s *Site) View(mux *http.ServeMux, path string, h http.HandlerFunc) {
	mux.Handle("GET "+path, s.guarded(s.views, h))
}

// Form serves POST requests for a path, guarded by host, origin and client address.
func (s *Site) Form(mux *http.ServeMux, path string, h http.HandlerFunc) {
	mux.Handle("POST "+path, s.guarded(s.forms, s.ownForms.Handler(h)))
}

// guarded serves next under the service's own host alone, and within the limits of the
// client's address. Under another host's name, a site that has its name resolve to the
// service could read pages and send forms as if they were its own (DNS rebinding).
func (s *Site) guarded(limits *ratelimit.Limits, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownHost(s.BaseURL, r.Host) {
			s.Message(w, r, http.StatusMisdirectedRequest, Message{
				Badge: Badge{Bad, "Refused"}, Headline: "This page is at another address",
				Text: "Open it at " + s.BaseURL + ". A proxy in front of this service must pass the Host header on.",
			})
			return
		}
		if a := limits.Take(httplog.ClientNetwork(r.Context())); !a.OK {
			s.TooMany(w, r, a.Wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// TooMany reports that a client has to wait.
func (s *Site) TooMany(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	retryafter.Set(w.Header(), max(wait, time.Second))
	s.Message(w, r, http.StatusTooManyRequests, Message{
		Badge: Badge{Bad, "Wait"}, Headline: "Too many requests from your network",
		Text: "Nothing was decided. Please load the page again in a moment.",
	})
}

// ownHost reports whether a Host header names the origin, or any loopback address if
// the origin is one.
func ownHost(origin, host string) bool {
	own, err := url.Parse(origin)
	if err != nil {
		return false
	}
	asked, err := url.Parse(own.Scheme + "://" + host)
	if err != nil {
		return false
	}
	return strings.EqualFold(own.Hostname(), asked.Hostname()) || (loopback.Name(own.Hostname()) && loopback.Name(asked.Hostname()))
}
