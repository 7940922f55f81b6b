package client

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Scope is what an access token or an API key permits.
type Scope string

// The scopes of access tokens. A token without a mandate also asks for mandates with
// [ScopePay]: it creates setup sessions and reads them.
const (
	// ScopePay pays from mandates: CreatePresentation and Charge.
	ScopePay Scope = "pay"
	// ScopeBalance reads the balance of mandates.
	ScopeBalance Scope = "balance"
	// ScopeRevoke revokes mandates.
	ScopeRevoke Scope = "revoke"
)

// The scopes of API keys. A call that an access token permits needs [ScopeCharge], or
// [ScopeRead] to read a balance.
const (
	// ScopeRead reads payments, mandates, statistics, events and settings.
	ScopeRead Scope = "read"
	// ScopeCharge asks for mandates, charges them and ends them, and creates checkouts.
	ScopeCharge Scope = "charge"
	// ScopeRefund gives payments back.
	ScopeRefund Scope = "refund"
	// ScopeAdmin changes webhook endpoints, access tokens and market servers.
	ScopeAdmin Scope = "admin"
)

// Scopes returns all scopes of access tokens.
func Scopes() []Scope { return []Scope{ScopePay, ScopeBalance, ScopeRevoke} }

// KeyScopes returns all scopes of API keys.
func KeyScopes() []Scope { return []Scope{ScopeRead, ScopeCharge, ScopeRefund, ScopeAdmin} }

// AccessTokenParams are the parameters of [Client.CreateAccessToken].
type AccessTokenParams struct {
	// Name describes the token for people, such as "shopping agent". Default: none.
	Name string `json:"name,omitempty"`
	// Scopes lists what the token permits. Default: all scopes.
	Scopes []Scope `json:"scopes,omitempty"`
	// Mandate is the only mandate that the token may use: its token or its id (del_…). This
	// merchant must have created it. Default: every mandate that the merchant created.
	Mandate string `json:"mandate,omitempty"`
	// ExpiresInDays is the number of days for which the token is valid: 1 to 90. Default: 90.
	ExpiresInDays int64 `json:"expiresInDays,omitzero"`
}

// AccessTokenStatus is the state of an access token.
type AccessTokenStatus string

// The states of an access token.
const (
	TokenActive  AccessTokenStatus = "active"
	TokenExpired AccessTokenStatus = "expired"
	TokenRevoked AccessTokenStatus = "revoked"
)

// AccessToken lets an agent act for the merchant within its scopes; see
// [Config].AccessToken. Printed or logged, it hides its Token.
type AccessToken struct {
	// ID is the token's id (tok_…). It does not authenticate.
	ID string `json:"id"`
	// Name describes the token for people.
	Name string `json:"name,omitempty"`
	// Token is the secret (token_…). It is returned only when the token is created.
	Token string `json:"token,omitempty"`
	// LastFour is the end of the secret.
	LastFour string `json:"lastFour"`
	// Status is active, expired or revoked.
	Status AccessTokenStatus `json:"status"`
	// Scopes lists what the token permits.
	Scopes []Scope `json:"scopes"`
	// MandateID is the only mandate that the token may use (del_…). Empty means every
	// mandate that the merchant created.
	MandateID string `json:"delegateId,omitempty"`
	// CreatedAt is when the token was created.
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is when the token expires.
	ExpiresAt time.Time `json:"expiresAt"`
	// LastUsedAt is when the token was last used, to the minute. It is zero if it was not.
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
	// RevokedAt is when the token was revoked. It is zero if it was not.
	RevokedAt time.Time `json:"revokedAt,omitzero"`
}

// AccessTokenPage is one page of the list of access tokens.
type AccessTokenPage struct {
	// HasMore reports whether more tokens follow.
	HasMore bool `json:"hasMore"`
	// Data holds the tokens, newest first.
	Data []AccessToken `json:"data"`
}

// CreateAccessToken creates an access token for an agent: POST /v1/access-tokens. Only this
// response contains the secret. The call needs the API key, and is retried only if the
// service cannot have processed it.
//
// Errors: [ErrValidation], [ErrNotFound] for a mandate of another merchant,
// [ErrMandateInvalid], and those that every call may return (see the package comment).
func (c *Client) CreateAccessToken(ctx context.Context, p AccessTokenParams) (AccessToken, error) {
	return do(ctx, c, call{
		doing: "create access token", method: http.MethodPost, pattern: "/v1/access-tokens", body: p, secrets: []string{p.Mandate},
	}, func(t *AccessToken, _ answer) bool { return t.ID != "" && t.Token != "" })
}

// AccessTokensPage returns one page of the merchant's access tokens, newest first, including
// expired and revoked ones: GET /v1/access-tokens. An expired token is listed for 30 days.
//
// Errors: [ErrValidation], and those that every call may return (see the package comment).
func (c *Client) AccessTokensPage(ctx context.Context, p ListParams) (AccessTokenPage, error) {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.StartingAfter != "" {
		q.Set("starting_after", p.StartingAfter)
	}
	return do(ctx, c, call{
		doing: "list access tokens", method: http.MethodGet, pattern: "/v1/access-tokens", query: q, idempotent: true,
	}, func(_ *AccessTokenPage, a answer) bool { return bytes.Contains(a.body, []byte(`"hasMore"`)) })
}

// AccessTokens returns an iterator over the merchant's access tokens, newest first. Limit is
// the size of a page. An error of [Client.AccessTokensPage] ends the iteration, and is
// yielded with a zero AccessToken.
func (c *Client) AccessTokens(ctx context.Context, p ListParams) iter.Seq2[AccessToken, error] {
	return pages("list access tokens", p.StartingAfter, func(after string) ([]AccessToken, bool, error) {
		page, err := c.AccessTokensPage(ctx, ListParams{Limit: cmp.Or(p.Limit, rangePage), StartingAfter: after})
		return page.Data, page.HasMore, err
	}, func(t AccessToken) string { return t.ID })
}

// RevokeAccessToken revokes an access token at once and for good, by its id (tok_…):
// DELETE /v1/access-tokens/{id}. Revoking a revoked token succeeds, so the call is retried
// after any temporary failure.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) RevokeAccessToken(ctx context.Context, tokenID string) (AccessToken, error) {
	return do(ctx, c, call{
		doing: "revoke access token", method: http.MethodDelete, idempotent: true, pattern: "/v1/access-tokens/{id}", value: tokenID,
	}, func(t *AccessToken, _ answer) bool { return t.ID != "" })
}
