package site

import (
	"bytes"
	"cmp"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/httplog"
)

// Page is a page to render.
type Page struct {
	// Template is from [Site.Parse]. It defines "content", which reads Content as .Content.
	Template *template.Template
	Title    string
	Content  any
	// Status is the HTTP status. Default: 200.
	Status int
	// Menu is the navigation of a dashboard. Nil: the page is one narrow column.
	Menu *Menu
	// Scripts are loaded by the page, which may then send requests to the service.
	Scripts []*Asset
	// LeadsTo is the origin, beside the service, that a form of the page may redirect to.
	// Default: none.
	LeadsTo string
}

// Menu is the navigation of a dashboard.
type Menu struct {
	// Label names the navigation: "Dashboard".
	Label string
	// Account is who is signed in.
	Account string
	Items   []MenuItem
	// SignOut is the path that a form is posted to.
	SignOut string
}

// MenuItem is a page in a [Menu].
type MenuItem struct {
	Name, URL, Icon string
	Current         bool
}

const policy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// layout is what the template of the same name shows.
type layout struct {
	Title, Style string
	Sandbox      bool
	Menu         *Menu
	Scripts      []string
	Body         template.HTML
}

// content is what the template "content" of a page reads.
type content struct {
	Content any
	Sandbox bool
}

// Render writes a page whole or not at all. Nothing else may be loaded by it, frame it, or
// learn its address, which may open it.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, p Page) {
	var body, page bytes.Buffer
	err := p.Template.ExecuteTemplate(&body, "content", content{p.Content, s.Sandbox})
	l := layout{Title: p.Title, Style: s.style.Path, Sandbox: s.Sandbox, Menu: p.Menu, Body: template.HTML(body.String())} //nolint:gosec // from a template
	if bytes.Contains(body.Bytes(), []byte("<time ")) || bytes.Contains(body.Bytes(), []byte("data-copy")) {
		l.Scripts = append(l.Scripts, s.script.Path)
	}
	for _, a := range p.Scripts {
		l.Scripts = append(l.Scripts, a.Path)
	}
	if err == nil {
		err = p.Template.ExecuteTemplate(&page, "layout", l)
	}
	if err != nil {
		s.Logger.ErrorContext(r.Context(), "page not rendered", slog.String("requestId", httplog.RequestID(r.Context())),
			slog.String("error", err.Error()))
		http.Error(w, "This page failed on our side.", http.StatusInternalServerError)
		return
	}
	rules := policy
	if p.LeadsTo != "" {
		rules = strings.Replace(rules, "form-action 'self'", "form-action 'self' "+p.LeadsTo, 1)
	}
	if len(l.Scripts) > 0 {
		rules += "; script-src 'self'"
	}
	if len(p.Scripts) > 0 {
		rules += "; connect-src 'self'"
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", rules)
	Private(h)
	w.WriteHeader(cmp.Or(p.Status, http.StatusOK))
	_, _ = w.Write(page.Bytes()) // the client may have gone
}

// Private sets the headers of an answer that is for the viewer alone: it is not stored,
// indexed or taken for another type, and pages that it links to do not learn its address.
func Private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("X-Content-Type-Options", "nosniff")
}
