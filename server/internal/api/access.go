package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// anyKey is the scope of calls that every API key permits, and no access token.
const anyKey client.Scope = ""

// keyScopes maps the scopes of access tokens to those of API keys: who may do something may let
// an agent do it.
var keyScopes = map[client.Scope]client.Scope{
	client.ScopePay: client.ScopeCharge, client.ScopeBalance: client.ScopeRead, client.ScopeRevoke: client.ScopeCharge,
}

// caller is the sender of an authenticated request: a merchant with its API key, or an agent
// with an access token of the merchant.
type caller struct {
	Merchant ledger.Merchant
	Key      store.APIKey       // if Token is nil
	Token    *store.AccessToken // nil: the merchant itself
}

// errOtherMandate refuses a token that is bound to a mandate. It does not depend on whether
// the other mandate exists.
var errOtherMandate = refuse(client.ErrInsufficientScope, "The access token is bound to another mandate.")

// restrict refuses a mandate, given by its token or id, that the caller's access token must
// not use. It verifies no signature.
func (c caller) restrict(idOrToken string) error {
	if c.Token == nil || c.Token.MandateID == "" {
		return nil
	}
	mandateID := idOrToken
	if !id.Valid(id.Mandate, idOrToken) {
		mandateID, _ = mandate.ClaimedID(idOrToken)
	}
	if mandateID != c.Token.MandateID {
		return errOtherMandate
	}
	return nil
}

// unbound refuses an access token that is bound to a mandate.
func (c caller) unbound() error {
	if c.Token != nil && c.Token.MandateID != "" {
		return refuse(client.ErrInsufficientScope, "The access token is bound to one mandate, and cannot ask for others.")
	}
	return nil
}

// ownKey returns the idempotency key of a caller's request, so that an agent shares none with
// its merchant.
func (c caller) ownKey(key string) string {
	if c.Token == nil || key == "" {
		return key
	}
	return c.Token.Holder() + " " + key
}

// attrs describes the caller's token in the audit log.
func (c caller) attrs() []slog.Attr {
	if c.Token == nil {
		return nil
	}
	attrs := []slog.Attr{slog.String("tokenId", c.Token.ID)}
	if c.Token.GrantID != "" {
		attrs = append(attrs, slog.String("grantId", c.Token.GrantID))
	}
	return attrs
}

// bearer returns the access token of a request, or an empty string. Another bearer token
// beside an API key is not ours: a proxy may have added it.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	ours := strings.HasPrefix(token, id.Token) || r.Header.Get("X-Service-Api-Key") == ""
	if !strings.EqualFold(scheme, "Bearer") || !ours {
		return ""
	}
	return token
}

// identify returns the caller whose credentials a request has, if they permit scope: one of
// access tokens, or one of API keys if no access token permits the call. The error for a caller
// without the scope has the caller. Wrong credentials count against the client's address.
func (a *API) identify(w http.ResponseWriter, r *http.Request, scope client.Scope) (caller, error) {
	token := bearer(r)
	var c caller
	var err error
	switch {
	case token == "":
		c.Key, c.Merchant, err = a.Accounts.Authenticate(r.Context(), r.Header.Get("X-Service-Merchant-Id"), r.Header.Get("X-Service-Api-Key"))
		if err == nil {
			err = a.permit(r.Context(), c, scope)
		}
	case r.Header.Get("X-Service-Api-Key") != "":
		err = refuse(client.ErrUnauthorized, "Send an API key or an access token, not both.")
	default:
		c, err = a.identifyAgent(r.Context(), token, scope)
	}
	if errors.Is(err, client.ErrUnauthorized) {
		a.Audit.Record(r.Context(), audit.AuthenticationFailed, slog.String("route", r.Pattern), slog.String("claimedMerchantId", claimed(r)))
		err = a.stranger(r.Context(), w.Header(), err)
	}
	return c, err
}

func (a *API) identifyAgent(ctx context.Context, token string, scope client.Scope) (caller, error) {
	resource, grace := a.audience(ctx)
	t, m, err := a.Accounts.AuthenticateToken(ctx, token, resource, grace)
	if err != nil {
		return caller{}, err
	}
	c := caller{Merchant: m, Token: &t}
	if !slices.Contains(t.Scopes, string(scope)) {
		a.Audit.Record(ctx, audit.ScopeRefused, slog.String("tokenId", t.ID), slog.String("merchantId", m.ID), slog.String("scope", string(scope)))
		return c, insufficientScope(scope)
	}
	return c, nil
}

// permit returns an error if the API key of a caller lacks a scope, or the one that a scope of
// access tokens stands for.
func (a *API) permit(ctx context.Context, c caller, scope client.Scope) error {
	if s, ok := keyScopes[scope]; ok {
		scope = s
	}
	if scope == anyKey || slices.Contains(c.Key.Scopes, string(scope)) {
		return nil
	}
	a.Audit.Record(ctx, audit.ScopeRefused, slog.String("keyId", c.Key.ID()), slog.String("merchantId", c.Merchant.ID), slog.String("scope", string(scope)))
	e := refuse(client.ErrInsufficientScope, "The API key lacks the scope "+string(scope)+".")
	e.Scope = scope
	return e
}

// admittedKey is the context key of the resource that admitted a request.
type admittedKey struct{}

// callTime is how long a call that another resource admitted may go on with a token that has
// expired since, so that no purchase breaks off in the middle.
const callTime = 10 * time.Minute

// Admitted returns a context for requests that a resource of this service makes for a caller
// whose access token it has accepted.
func Admitted(ctx context.Context, resource string) context.Context {
	return context.WithValue(ctx, admittedKey{}, resource)
}

// audience returns the resource that the token of a request must be for, and how long it may
// be expired.
func (a *API) audience(ctx context.Context) (resource string, grace time.Duration) {
	if resource, ok := ctx.Value(admittedKey{}).(string); ok {
		return resource, callTime
	}
	return a.Resource, 0
}

// insufficientScope returns the error for a request that a token's scopes do not permit.
func insufficientScope(scope client.Scope) error {
	if _, ok := keyScopes[scope]; !ok {
		return refuse(client.ErrInsufficientScope, "No access token permits this. It needs the merchant's API key.")
	}
	e := refuse(client.ErrInsufficientScope, "The access token lacks the scope "+string(scope)+".")
	e.Scope = scope
	return e
}

// metadataKey is the context key of the address of a resource's metadata.
type metadataKey struct{}

// Agent returns the access token of a request that is valid for a resource, of any scope, and
// counts the request. If it has none, Agent answers it, with a challenge that names metadataURL
// (RFC 9728), and reports false.
func (a *API) Agent(w http.ResponseWriter, r *http.Request, resource, metadataURL string) (plain string, t store.AccessToken, ok bool) {
	r = r.WithContext(context.WithValue(r.Context(), metadataKey{}, metadataURL))
	plain = bearer(r)
	t, m, err := a.Accounts.AuthenticateToken(r.Context(), plain, resource, 0)
	if errors.Is(err, client.ErrUnauthorized) {
		if plain != "" {
			a.Audit.Record(r.Context(), audit.AuthenticationFailed, slog.String("route", r.Pattern), slog.String("claimedMerchantId", ""))
		}
		err = a.stranger(r.Context(), w.Header(), err)
	}
	if err == nil {
		if wait, free := a.limits.take(w.Header(), m.ID, reads); !free {
			err = rateLimited(wait)
		}
	}
	if err != nil {
		a.fail(w, r, err)
		return "", t, false
	}
	return plain, t, true
}

// claimed returns the merchant that a request claims to come from, if it is an id.
func claimed(r *http.Request) string {
	merchantID := r.Header.Get("X-Service-Merchant-Id")
	if !id.Valid(id.Merchant, merchantID) {
		return ""
	}
	return merchantID
}

// challenge sets WWW-Authenticate, as RFC 6750 requires for bearer tokens.
func challenge(h http.Header, r *http.Request, e *client.Error) {
	agent := bearer(r) != ""
	metadataURL, _ := r.Context().Value(metadataKey{}).(string)
	switch {
	case e.Status == http.StatusUnauthorized && metadataURL != "":
		value := `Bearer resource_metadata="` + metadataURL + `", scope="pay balance revoke"`
		if agent {
			value += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", value)
	case e.Status == http.StatusUnauthorized && agent:
		h.Set("WWW-Authenticate", `Bearer realm="merchant", error="invalid_token"`)
	case e.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `ApiKey realm="merchant"`)
	case e.Code == client.CodeInsufficientScope && agent:
		value := `Bearer realm="merchant", error="insufficient_scope"`
		if e.Scope != "" {
			value += `, scope="` + string(e.Scope) + `"`
		}
		h.Set("WWW-Authenticate", value)
	}
}
