package pages

import (
	"net/http"
	"slices"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/server/internal/site"
)

// Link is an entry of the page at "/". With Post, it is a button that sends a form to URL.
type Link struct {
	Name, URL, Text string
	Post            http.Handler
}

// home is the page at "/".
type home struct {
	Text                  string
	Links, Accounts, More []Link
}

// showHome describes the service: to browsers as a page, to programs as JSON.
func (p *Pages) showHome(w http.ResponseWriter, r *http.Request) {
	mode := "live"
	if p.Sandbox {
		mode = "sandbox"
	}
	errors := ""
	if p.DocsURL != "" {
		errors = p.DocsURL + "README.md"
	}
	w.Header().Set("Vary", "Accept")
	if !site.ForPeople(r) {
		httpjson.Write(w, http.StatusOK, struct {
			Service string `json:"service"`
			Mode    string `json:"mode"`
			OpenAPI string `json:"openapi"`
			JWKS    string `json:"jwks"`
			Errors  string `json:"errors,omitempty"`
		}{"paywarrant", mode, p.BaseURL + "/openapi.json", p.BaseURL + "/.well-known/jwks.json", errors})
		return
	}
	h := home{
		Text:  "Software pays through this service, within limits that people signed. If you were given a link to confirm, follow or stop payments, open the whole link.",
		Links: p.Links,
		Accounts: []Link{
			{Name: "Your mandates", URL: "/me", Text: "What you allowed agents to pay, and what they paid. Pause or stop it."},
			{Name: "Dashboard of merchants", URL: "/dashboard", Text: "Payments, refunds, mandates, API keys and webhooks."},
		},
		More: []Link{
			{Name: "API description", URL: "/openapi.json", Text: "OpenAPI 3.1: mandates, charges, webhooks"},
			{Name: "Public keys", URL: "/.well-known/jwks.json", Text: "They verify mandates offline."},
		},
	}
	if p.Mailbox != nil {
		h.Links = append(slices.Clip(h.Links), Link{Name: "Mailbox", URL: mailboxPath, Text: "Mail to people is shown here instead of being sent."})
	}
	if p.Sandbox {
		h.More = append(h.More, Link{Name: "Components", URL: "/design", Text: "What the pages of the service are made of."})
	}
	if errors != "" {
		h.More = append(h.More, Link{Name: "Error codes", URL: errors, Text: "The cause and the fix of each one."})
	}
	p.render(w, r, http.StatusOK, p.start, "Payment service", h)
}
