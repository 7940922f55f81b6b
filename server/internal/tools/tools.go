// Package tools serves the agent's tools at /mcp, by the Model Context Protocol over streamable
// HTTP without sessions. A caller has an access token, which a merchant created or which an app
// got by OAuth, and each tool calls the merchant API with it, within the process. So scopes, rate
// limits and idempotency are the API's, and no credential of the merchant is reachable from a tool.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent/mcptools"
	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// Path is the path of the tools.
	Path = "/mcp"
	// metadataPath is the prefix of RFC 9728.
	metadataPath = "/.well-known/oauth-protected-resource"
	// maxBody limits a request, in bytes.
	maxBody = 1 << 20
)

// Config configures [Tools]. Every field except AllowPrivate and Logger is required.
type Config struct {
	BaseURL string
	// Authenticate returns the access token of a request that is valid for a resource. If there
	// is none, it answers the request, with a challenge that names metadataURL, and reports
	// false.
	Authenticate func(w http.ResponseWriter, r *http.Request, resource, metadataURL string) (plain string, t store.AccessToken, ok bool)
	// Resources are the audiences of access tokens. That of the tools is the first.
	Resources []string
	// Transport reaches the service within the process.
	Transport http.RoundTripper
	// AllowPrivate lets tools fetch addresses that are not public, for development.
	AllowPrivate bool
	Clock        func() time.Time
	Logger       *slog.Logger
}

// Tools serves /mcp. It is safe for concurrent use.
type Tools struct {
	Config

	base    *url.URL
	kits    *kits
	handler http.Handler
}

// New returns Tools.
func New(cfg Config) (*Tools, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, errors.New("BaseURL is not a URL")
	}
	t := &Tools{Config: cfg, base: base}
	t.kits = &kits{make: t.kit}
	server := mcptools.New(mcptools.Config{Kit: kitOf})
	t.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // sameSite checks Host and Origin, also behind a proxy
	})
	return t, nil
}

// Close closes idle connections.
func (t *Tools) Close() { t.kits.close() }

// Register adds the routes to mux.
func (t *Tools) Register(mux *http.ServeMux) {
	t.registerDescriptions(mux)
	mux.Handle(Path, t)
	mux.HandleFunc("GET "+metadataPath, t.metadata(t.Resources[0]))
	for _, resource := range t.Resources {
		mux.HandleFunc("GET "+metadataPath+strings.TrimPrefix(resource, t.BaseURL), t.metadata(resource))
	}
}

// ServeHTTP serves a request of an agent.
func (t *Tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !t.sameSite(r) {
		writeJSON(w, http.StatusForbidden, map[string]string{"code": "forbidden", "message": "Host or Origin is not that of this service."})
		return
	}
	metadataURL := t.BaseURL + metadataPath + Path
	plain, token, ok := t.Authenticate(w, r, t.Resources[0], metadataURL)
	if !ok || !permitted(w, r, token, metadataURL) {
		return
	}
	kit, err := t.kits.of(plain, token)
	if err != nil {
		t.Logger.ErrorContext(r.Context(), "tools of an access token", slog.String("tokenId", token.ID), slog.String("error", err.Error()))
		writeJSON(w, http.StatusInternalServerError, map[string]string{"code": string(client.CodeInternal), "message": "Something failed on our side."})
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, call{kit, plain}))
	r.Header.Del("Authorization") // it has done its work: nothing behind it may see or record it
	t.handler.ServeHTTP(w, r)
}

// sameSite reports whether a request is meant for this service. It stops a page that a
// browser shows under another name of this address (DNS rebinding), and pages of other
// origins.
func (t *Tools) sameSite(r *http.Request) bool {
	if !strings.EqualFold(r.Host, t.base.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	return origin == "" || strings.EqualFold(origin, t.base.Scheme+"://"+t.base.Host)
}

// metadata serves the protected-resource metadata of RFC 9728.
func (t *Tools) metadata(resource string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		writeJSON(w, http.StatusOK, map[string]any{
			"resource": resource, "resource_name": "Paywarrant", "authorization_servers": []string{t.BaseURL},
			"bearer_methods_supported": []string{"header"}, "scopes_supported": client.Scopes(),
		})
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// call is a request of an agent, in its context.
type call struct {
	kit   *toolkit.Kit
	plain string
}

type callKey struct{}

// kitOf returns the functions for the call's access token.
func kitOf(ctx context.Context, _ *mcp.CallToolRequest) (*toolkit.Kit, error) {
	c, ok := ctx.Value(callKey{}).(call)
	if !ok {
		return nil, errors.New("the call has no access token")
	}
	return c.kit, nil
}

func (t *Tools) kit(plain string, token store.AccessToken) (*toolkit.Kit, error) {
	return toolkit.New(toolkit.Config{
		ServiceURL: t.BaseURL, Token: plain, Mandate: token.MandateID, HTTPClient: &http.Client{Transport: current{t.Transport}},
		AllowPrivate: t.AllowPrivate, Clock: t.Clock,
	})
}

// current sends requests to the service with the access token of the call. A Kit outlives the
// token that it was made with if an app refreshes its tokens.
type current struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c current) RoundTrip(r *http.Request) (*http.Response, error) {
	if now, ok := r.Context().Value(callKey{}).(call); ok {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+now.plain)
	}
	return c.next.RoundTrip(r)
}
