package server

import (
	"context"
	"net/http"

	"github.com/paywarrant/paywarrant/server/internal/api"
	"github.com/paywarrant/paywarrant/server/internal/oauth"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/internal/tools"
)

// audiences are the resources that access tokens are for: the agent's tools and the merchant API.
func (c Config) audiences() []string { return []string{c.BaseURL + tools.Path, c.BaseURL + "/v1"} }

// authorize adds the authorization server, where merchants let apps act for them.
func (s *Server) authorize(ctx context.Context, mux *http.ServeMux, look *site.Site) error {
	secret, err := s.keys.Secret(ctx, "oauth-consent")
	if err != nil {
		return err
	}
	cfg := s.config
	oauth.New(oauth.Config{
		Site: look, Store: cfg.Store, Clock: cfg.Clock, Logger: cfg.Logger, Audit: s.audit, BaseURL: cfg.BaseURL, Resources: cfg.audiences(), Secret: secret,
		SignedIn:  func(d oauth.Decision) http.HandlerFunc { return s.dashboard.Deciding(d) },
		PerSecond: cfg.AnonymousPerSecond, AllowPrivate: cfg.onLoopback(),
	}).Register(mux)
	return nil
}

// admitted sends the requests of tools, whose access tokens /mcp has accepted, to the merchant
// API.
type admitted struct {
	next     http.RoundTripper
	resource string
}

// RoundTrip implements http.RoundTripper.
func (a admitted) RoundTrip(r *http.Request) (*http.Response, error) {
	return a.next.RoundTrip(r.WithContext(api.Admitted(r.Context(), a.resource)))
}
