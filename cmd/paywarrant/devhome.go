package main

import (
	"net/http"
	"net/url"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server"
)

// newSetupPath takes the form that makes a setup session, and redirects to its page.
const newSetupPath = "/dev/setup"

// links are those of the service's start page.
func (s *devSystem) links() []server.Link {
	links := []server.Link{{
		Name: "Open a setup page", URL: newSetupPath, Text: "What a person sees who is asked to sign a mandate. Each one is new.",
		Post: http.HandlerFunc(s.newSetup),
	}}
	for _, r := range s.API.Routes {
		l := server.Link{Name: r.Method + " " + r.Path, Text: r.Price + " USD. " + r.description + "."}
		if r.Method == http.MethodGet {
			l.URL = s.API.BaseURL + r.Path
		}
		links = append(links, l)
	}
	return append(links,
		server.Link{Name: "Bundles", URL: s.API.BaseURL + bundlesPath, Text: "Requests of the demo API, bought in advance."},
		server.Link{Name: "openapi.json of the demo API", URL: s.API.BaseURL + "/openapi.json", Text: "With prices, for directories and agents."},
		server.Link{Name: "Metrics", URL: s.Metrics, Text: "Of the service, for Prometheus."},
	)
}

// newSetup redirects to the page of a new setup session.
func (s *devSystem) newSetup(w http.ResponseWriter, r *http.Request) {
	c, err := s.client()
	var session client.Session
	if err == nil {
		session, err = c.CreateSession(r.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	}
	var page *url.URL
	if err == nil {
		page, err = url.Parse(session.SetupURL)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, page.RequestURI(), http.StatusSeeOther) // the browser may have opened another name of this host
}

// client returns a client of the merchant.
func (s *devSystem) client() (*client.Client, error) {
	m := s.People.Merchant
	return client.New(client.Config{BaseURL: s.BaseURL, MerchantID: m.ID, APIKey: m.APIKey, HTTPClient: s.http()})
}

// http returns a client that reaches the service within the process, because its base
// URL may lead through a proxy or a tunnel; nil for the default if it does not.
func (s *devSystem) http() *http.Client {
	if s.direct {
		return nil
	}
	return &http.Client{Transport: s.Service.Transport(http.DefaultTransport)}
}

// local reports whether the base URL is on this machine. If not, the test helpers are
// closed, and webhooks are sent to public addresses only.
func (s *devSystem) local() bool {
	u, err := url.Parse(s.BaseURL)
	return err == nil && loopback.Host(u.Hostname())
}
