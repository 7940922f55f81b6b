// Package api serves the merchant API over HTTP.
//
// One generic handler ([handle]) authenticates, decodes the body, limits the rate, and
// writes the response or the error. An endpoint consists of its wire types (package
// client) and one function. [API.Register] has the table of routes.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// Accounts authenticates merchants and agents, and manages access tokens.
type Accounts interface {
	Authenticate(ctx context.Context, merchantID, apiKey string) (store.APIKey, ledger.Merchant, error)
	AuthenticateToken(ctx context.Context, token, resource string, grace time.Duration) (store.AccessToken, ledger.Merchant, error)
	IssueToken(ctx context.Context, t store.AccessToken, life time.Duration) (string, store.AccessToken, error)
	Tokens(ctx context.Context, merchantID, before string, limit int) ([]store.AccessToken, error)
	RevokeToken(ctx context.Context, merchantID, tokenID string) (store.AccessToken, bool, error)
}

// Config configures an API. Every field except Audit and Sandbox is required.
type Config struct {
	Payments *payment.Service
	Accounts Accounts
	Clock    func() time.Time
	Logger   *slog.Logger
	// Audit logs security events. Default: none.
	Audit  *audit.Log
	Limits Limits
	// Resource identifies this API as the audience of access tokens.
	Resource string
	// DocsURL is the prefix of the pages on error codes.
	DocsURL string
	// Loopback allows http URLs with loopback addresses, for development.
	Loopback bool
	Webhooks Webhooks
	Market   Market
	// Sandbox adds the test helpers. Default: none.
	Sandbox *Sandbox
}

// API serves the merchant API.
type API struct {
	Config

	limits limiters
	moving sync.Mutex // held while the sandbox's clock is advanced
}

// New returns the API.
func New(cfg Config) *API { return &API{Config: cfg, limits: newLimiters(cfg.Limits, cfg.Clock)} }

// route is one endpoint: a ServeMux pattern and its handler.
type route struct {
	pattern string
	handler http.Handler
}

func (a *API) routes() []route {
	revoke := handle(a, writes, client.ScopeRevoke, a.revoke)
	routes := []route{
		{"POST /v1/mandates", handle(a, writes, client.ScopePay, a.createSession)},
		{"GET /v1/mandates/session/{sessionToken}", handle(a, reads, client.ScopePay, a.session)},
		{"GET /v1/mandates/{intentMandate}/balance", handle(a, reads, client.ScopeBalance, a.balance)},
		{"POST /v1/mandates/{intentMandate}/revoke", revoke},
		{"POST /v1/mandates/{intentMandate}/presentations", handle(a, writes, client.ScopePay, a.present)},
		{"POST /v1/mandates/{intentMandate}/credentials", handle(a, charges, client.ScopePay, a.createCredential)},
		{"POST /v1/mandates/{intentMandate}/sweep", handle(a, writes, client.ScopeRevoke, a.sweep)},
		{"POST /v1/delegates/{intentMandate}/revoke", revoke},
		{"POST /v1/payments/charge", handle(a, charges, client.ScopePay, a.charge)},
		{"POST /v1/payments/authorize", handle(a, charges, client.ScopeCharge, a.authorize)},
		{"POST /v1/payments/{transactionId}/capture", handle(a, charges, client.ScopeCharge, a.capture)},
		{"POST /v1/payments/{transactionId}/void", handle(a, charges, client.ScopeCharge, a.void)},
		{"POST /v1/payments/{transactionId}/refunds", handle(a, charges, client.ScopeRefund, a.refund)},
		{"GET /v1/payments/{transactionId}/refunds", handle(a, reads, client.ScopeRead, a.refunds)},
		{"POST /v1/payments/{transactionId}/refunds/{refundId}/signature", handle(a, charges, client.ScopeRefund, a.signRefund)},
		{"GET /v1/tabs", handle(a, reads, client.ScopeRead, a.tabs)},
		{"POST /v1/tabs/{tabId}/close", handle(a, writes, client.ScopeCharge, a.closeTab)},
		{"GET /v1/payments/{transactionId}/receipt", handle(a, reads, client.ScopeRead, a.receipt)},
		{"GET /v1/merchants/stats", handle(a, reads, client.ScopeRead, a.stats)},
		{"GET /v1/merchants/transactions", handle(a, reads, client.ScopeRead, a.transactions)},
		{"POST /v1/webhook_endpoints", handle(a, writes, client.ScopeAdmin, a.createEndpoint)},
		{"GET /v1/webhook_endpoints", handle(a, reads, client.ScopeRead, a.endpoints)},
		{"GET /v1/webhook_endpoints/{endpointId}", handle(a, reads, client.ScopeRead, a.endpoint)},
		{"DELETE /v1/webhook_endpoints/{endpointId}", handle(a, writes, client.ScopeAdmin, a.deleteEndpoint)},
		{"POST /v1/webhook_endpoints/{endpointId}/rotate_secret", handle(a, writes, client.ScopeAdmin, a.rotateSecret)},
		{"POST /v1/webhook_endpoints/{endpointId}/test", handle(a, tests, client.ScopeAdmin, a.testEndpoint)},
		{"GET /v1/events", handle(a, reads, client.ScopeRead, a.listEvents)},
		{"POST /v1/events/{eventId}/redeliver", handle(a, redeliveries, client.ScopeAdmin, a.redeliver)},
		{"GET /v1/events/{eventId}/deliveries", handle(a, reads, client.ScopeRead, a.deliveries)},
		{"GET /v1/market", http.HandlerFunc(a.market)},
		{"GET /v1/x402/discovery/resources", http.HandlerFunc(a.resources)},
		{"POST /v1/market/servers", handle(a, tests, client.ScopeAdmin, a.registerServer)},
		{"GET /v1/market/servers", handle(a, reads, client.ScopeRead, a.marketServers)},
		{"DELETE /v1/market/servers/{serverId}", handle(a, writes, client.ScopeAdmin, a.deleteServer)},
		{"POST /v1/access-tokens", handle(a, writes, client.ScopeAdmin, a.createToken)},
		{"GET /v1/access-tokens", handle(a, reads, client.ScopeRead, a.listTokens)},
		{"DELETE /v1/access-tokens/{id}", handle(a, writes, client.ScopeAdmin, a.revokeToken)},
		{"POST /v1/checkouts", handle(a, writes, client.ScopeCharge, a.createCheckout)},
		{"GET /v1/checkouts/{checkoutId}", handle(a, reads, client.ScopeRead, a.checkout)},
		{"POST /v1/paywall/settle", http.HandlerFunc(a.settlePaywall)},
		{"POST /v1/x402/verify-receipt", http.HandlerFunc(a.verifyReceipt)},
		{"GET /openapi.json", http.HandlerFunc(a.openAPI)},
	}
	if a.Sandbox != nil {
		routes = append(routes, a.testHelpers()...)
	}
	return routes
}

// sessionPaths have their own mux, since /v1/mandates/session/{…} and
// /v1/mandates/{…}/balance overlap and neither is more specific.
const sessionPaths = "/v1/mandates/session/"

// Register adds the routes to mux. It also handles other methods of their paths, and other
// paths below /v1.
func (a *API) Register(mux *http.ServeMux) {
	sessions, rest := http.NewServeMux(), http.NewServeMux()
	methods := map[string][]string{}
	owner := func(path string) *http.ServeMux {
		if strings.HasPrefix(path, sessionPaths) {
			return sessions
		}
		return rest
	}
	for _, r := range a.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		owner(path).Handle(r.pattern, r.handler)
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		owner(path).Handle(path, a.OtherMethods(allowed...))
	}
	sessions.HandleFunc("/", a.NotFound)
	rest.HandleFunc("/", a.NotFound)
	mux.Handle(sessionPaths, sessions)
	mux.Handle("/v1/", rest)
	mux.Handle("/openapi.json", rest)
}

// OtherMethods returns the handler for methods that a path does not support.
func (a *API) OtherMethods(allowed ...string) http.Handler {
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		a.fail(w, r, refuse(client.ErrMethodNotAllowed, r.Method+" is not allowed here; allowed: "+allow+"."))
	})
}

// NotFound handles requests to unknown paths.
func (a *API) NotFound(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, refuse(client.ErrNotFound, "There is nothing at this path. All paths are in /openapi.json."))
}

// Stopping handles requests while the service is closing.
func (a *API) Stopping(w http.ResponseWriter, r *http.Request) { a.fail(w, r, ledger.ErrClosed) }

// Panicked writes the response for a handler that panicked.
func (a *API) Panicked(w http.ResponseWriter, r *http.Request) { a.fail(w, r, errPanicked) }

// call is one authenticated request with its decoded body.
type call[In any] struct {
	caller

	In        In
	Request   *http.Request
	RequestID string
}

// reply is the response of an endpoint, with status 200.
type reply struct {
	Body     any
	Replayed bool // an earlier request with the same idempotency key made it
}

// handle processes every request of the merchant API in this order: authentication, body,
// rate limit, endpoint. scope is the scope that the caller needs; see [API.identify].
func handle[In any](a *API, limit class, scope client.Scope, endpoint func(context.Context, call[In]) (reply, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := call[In]{Request: r, RequestID: httplog.RequestID(r.Context())}
		var err error
		if c.caller, err = a.identify(w, r, scope); err != nil {
			if wait, ok := a.limits.takeRefused(w.Header(), c.caller, limit); !ok {
				err = rateLimited(wait)
			}
			a.fail(w, r, err)
			return
		}
		malformed := checkQuery(r)
		if r.Method == http.MethodPost {
			malformed = httpjson.Decode(w, r, &c.In)
		}
		wait, ok := a.limits.take(w.Header(), c.Merchant.ID, limit)
		if malformed != nil {
			a.fail(w, r, malformed)
			return
		}
		if !ok {
			a.fail(w, r, rateLimited(wait))
			return
		}
		answer, err := endpoint(r.Context(), c)
		a.answer(w, r, answer, err)
	})
}

// authenticate returns the merchant whose API key a request has, if the key has scope. No
// access token suffices.
func (a *API) authenticate(w http.ResponseWriter, r *http.Request, scope client.Scope) (ledger.Merchant, error) {
	c, err := a.identify(w, r, scope)
	return c.Merchant, err
}

// Merchant returns the id of the merchant whose credentials a request has, or an empty
// string if it has none. If they are wrong, or the API key must not charge, it answers the
// request and reports false.
func (a *API) Merchant(w http.ResponseWriter, r *http.Request) (id string, ok bool) {
	if r.Header.Get("X-Service-Merchant-Id") == "" && r.Header.Get("X-Service-Api-Key") == "" {
		return "", true
	}
	m, err := a.authenticate(w, r, client.ScopeCharge)
	if err != nil {
		a.fail(w, r, err)
		return "", false
	}
	return m.ID, true
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, answer reply, err error) {
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if answer.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header().Set("Cache-Control", "no-store")
	httpjson.Write(w, http.StatusOK, answer.Body)
}
