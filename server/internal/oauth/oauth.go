// Package oauth is the service's authorization server: OAuth 2.1 for apps that act for a
// merchant, as the authorization part of the Model Context Protocol (2026-07-28) has it.
//
//	s := oauth.New(oauth.Config{Site: look, Store: db, BaseURL: "https://pay.example", …})
//	s.Register(mux)
//
// It issues codes (PKCE with S256 only) after a merchant consents on a page, and exchanges them
// for an access token of one hour and a refresh token. Both kinds of secrets are used once: a
// second use revokes everything that came from the same consent. Apps are public clients. They
// identify themselves by the URL of a metadata document, or register (RFC 7591).
//
// Implemented are RFC 8414 (metadata), RFC 7636 (PKCE), RFC 8707 (resource indicators), RFC 9207
// (iss), RFC 7591 (registration), RFC 7009 (revocation) and
// draft-ietf-oauth-client-id-metadata-document-02.
package oauth

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// The paths of the endpoints.
const (
	metadataPath  = "/.well-known/oauth-authorization-server"
	authorizePath = "/oauth2/authorize"
	tokenPath     = "/oauth2/token" //nolint:gosec // a path
	registerPath  = "/oauth2/register"
	revokePath    = "/oauth2/revoke"
)

const (
	// codeLifetime is the time in which a code must be redeemed.
	codeLifetime = time.Minute
	// accessLifetime is the lifetime of an access token.
	accessLifetime = time.Hour
	// refreshLifetime is the time in which a refresh token must be used.
	refreshLifetime = 30 * 24 * time.Hour
	// grantLifetime is the time after which the merchant has to consent again.
	grantLifetime = 365 * 24 * time.Hour
	// MaxGrants limits the apps that are connected to a merchant at the same time.
	MaxGrants = 100
	// maxTokens limits the access tokens of a grant.
	maxTokens = 10
	// maxForm limits the body of a request to the token endpoints, in bytes.
	maxForm = 16 << 10
)

//go:embed templates/*.html
var templates embed.FS

// Store is the part of the store that is used here.
type Store interface {
	store.OAuth
	// AccessToken returns the token with this hash, valid or not, and its merchant.
	AccessToken(ctx context.Context, hash string) (store.AccessToken, ledger.Merchant, error)
	RevokeAccessToken(ctx context.Context, merchantID, id string, at time.Time) (bool, error)
	UsableMandatesOf(ctx context.Context, merchantID string, now time.Time, limit int) ([]ledger.Mandate, error)
}

// Decision is a page on which the merchant that is signed in decides. The browser identifies
// the merchant's session.
type Decision func(w http.ResponseWriter, r *http.Request, m ledger.Merchant, browser string)

// Config configures a [Service]. Every field is required, except those with a default.
type Config struct {
	Site  *site.Site
	Store Store
	Clock func() time.Time
	// Logger records failures on the service's side.
	Logger *slog.Logger
	// Audit logs security events. Default: none.
	Audit *audit.Log
	// BaseURL is the issuer.
	BaseURL string
	// Resources are the audiences of tokens. The first is that of a request that names none.
	Resources []string
	// Secret authenticates the forms of consent.
	Secret []byte
	// SignedIn serves a page to the merchant that is signed in and has proven itself recently.
	// It sends others to sign in first, and then back.
	SignedIn func(Decision) http.HandlerFunc
	// PerSecond is how many requests one client address may send to each endpoint a second,
	// with bursts of twice that. Default: 20.
	PerSecond int
	// AllowPrivate lets metadata documents be at addresses that are not public, for
	// development. Default: public addresses only.
	AllowPrivate bool
	// Documents fetches metadata documents. Default: a transport for public addresses, which
	// are checked when they are dialed.
	Documents http.RoundTripper
}

// Service is the authorization server. It is safe for concurrent use.
type Service struct {
	Config

	consent   *template.Template
	documents *documents
	limits    map[string]*ratelimit.Limits
}

// New parses the templates; they are part of the program, so a broken one panics.
func New(cfg Config) *Service {
	if cfg.PerSecond == 0 {
		cfg.PerSecond = 20
	}
	if cfg.Documents == nil {
		cfg.Documents = guarded(cfg.AllowPrivate)
	}
	s := &Service{Config: cfg, limits: map[string]*ratelimit.Limits{}, consent: cfg.Site.Parse(templates, "templates/consent.html")}
	s.documents = newDocuments(cfg.Documents, cfg.Clock)
	for _, path := range []string{tokenPath, registerPath, revokePath} {
		s.limits[path] = ratelimit.New(ratelimit.Config{PerSecond: cfg.PerSecond, Clock: cfg.Clock})
	}
	return s
}

// Register adds the routes to mux.
func (s *Service) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+metadataPath, s.metadata)
	s.Site.View(mux, authorizePath, s.SignedIn(s.ask))
	s.Site.Form(mux, authorizePath, s.SignedIn(s.decide))
	mux.HandleFunc("POST "+tokenPath, s.limited(tokenPath, s.token))
	mux.HandleFunc("POST "+registerPath, s.limited(registerPath, s.register))
	mux.HandleFunc("POST "+revokePath, s.limited(revokePath, s.revoke))
}

// limited serves next within the limits of the client's address.
func (s *Service) limited(path string, next func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if a := s.limits[path].Take(httplog.ClientNetwork(r.Context())); !a.OK {
			retryafter.Set(w.Header(), max(a.Wait, time.Second))
			s.fail(w, r, &problem{status: http.StatusTooManyRequests, code: "temporarily_unavailable", text: "too many requests from your network; try again later"})
			return
		}
		if err := next(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}
