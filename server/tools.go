package server

import (
	"net/http"
	"net/url"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server/internal/api"
	"github.com/paywarrant/paywarrant/server/internal/tools"
)

// serveTools adds the agent's tools, which call the merchant API within the process.
func (s *Server) serveTools(mux *http.ServeMux, merchantAPI *api.API) (err error) {
	s.tools, err = tools.New(tools.Config{
		BaseURL: s.config.BaseURL, Authenticate: merchantAPI.Agent, Resources: s.config.audiences(),
		Transport: admitted{s.Transport(nil), s.config.audiences()[0]}, AllowPrivate: s.config.onLoopback(), Clock: s.config.Clock, Logger: s.config.Logger,
	})
	if err == nil {
		s.tools.Register(mux)
	}
	return err
}

// onLoopback reports whether the service is a sandbox on the caller's own machine.
func (c Config) onLoopback() bool {
	base, err := url.Parse(c.BaseURL)
	return c.Mode == Sandbox && err == nil && loopback.Host(base.Hostname())
}
