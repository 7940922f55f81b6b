// Package tools serves the agent's tools at /mcp, by the Model Context Protocol over streamable
// HTTP without sessions. A caller has an access token (token_…), and each tool calls the
// merchant API with it, within the process. So scopes, rate limits and idempotency are the
// API's, and no credential of the merchant is reachable from a tool.
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
	// Authenticate returns the valid access token of a request. If there is none, it answers
	// the request, with a challenge that names metadataURL, and reports false.
	Authenticate func(w http.ResponseWriter, r *http.Request, metadataURL string) (plain string, t store.AccessToken, ok bool)
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
	mux.Handle(Path, t)
	mux.HandleFunc("GET "+metadataPath, t.metadata)
	mux.HandleFunc("GET "+metadataPath+Path, t.metadata)
}

// ServeHTTP serves a request of an agent.
func (t *Tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !t.sameSite(r) {
		writeJSON(w, http.StatusForbidden, map[string]string{"code": "forbidden", "message": "Host or Origin is not that of this service."})
		return
	}
	plain, token, ok := t.Authenticate(w, r, t.BaseURL+metadataPath+Path)
	if !ok {
		return
	}
	kit, err := t.kits.of(plain, token)
	if err != nil {
		t.Logger.ErrorContext(r.Context(), "tools of an access token", slog.String("tokenId", token.ID), slog.String("error", err.Error()))
		writeJSON(w, http.StatusInternalServerError, map[string]string{"code": string(client.CodeInternal), "message": "Something failed on our side."})
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), kitKey{}, kit))
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
func (t *Tools) metadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	writeJSON(w, http.StatusOK, map[string]any{
		"resource": t.BaseURL + Path, "resource_name": "Paywarrant", "bearer_methods_supported": []string{"header"}, "scopes_supported": client.Scopes(),
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

type kitKey struct{}

// kitOf returns the functions of the access token of the call's request.
func kitOf(ctx context.Context, _ *mcp.CallToolRequest) (*toolkit.Kit, error) {
	kit, ok := ctx.Value(kitKey{}).(*toolkit.Kit)
	if !ok {
		return nil, errors.New("the call has no access token")
	}
	return kit, nil
}

func (t *Tools) kit(plain string, token store.AccessToken) (*toolkit.Kit, error) {
	return toolkit.New(toolkit.Config{
		ServiceURL: t.BaseURL, Token: plain, Mandate: token.MandateID, HTTPClient: &http.Client{Transport: t.Transport},
		AllowPrivate: t.AllowPrivate, Clock: t.Clock,
	})
}
