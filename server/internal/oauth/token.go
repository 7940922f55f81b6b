package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// tokens is the answer of the token endpoint.
type tokens struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
}

// form reads the form of a public client. Nothing is read from the URL, which proxies log.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/x-www-form-urlencoded" {
		return nil, invalidRequest("Content-Type must be application/x-www-form-urlencoded")
	}
	if r.URL.RawQuery != "" {
		return nil, invalidRequest("parameters must be in the body, not in the URL")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, invalidRequest("the form did not arrive whole, or is too long")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, invalidRequest("a parameter is repeated: " + name)
		}
	}
	if r.Header.Get("Authorization") != "" || r.PostForm.Has("client_secret") || r.PostForm.Has("client_assertion") {
		return nil, invalidClient("apps have no secret here: send client_id alone")
	}
	if r.PostForm.Get("client_id") == "" {
		return nil, invalidClient("client_id is required")
	}
	return r.PostForm, nil
}

// token exchanges a code or a refresh token.
func (s *Service) token(w http.ResponseWriter, r *http.Request) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	kind, plain := store.SecretCode, in.Get("code")
	switch in.Get("grant_type") {
	case "authorization_code":
	case "refresh_token":
		kind, plain = store.SecretRefresh, in.Get("refresh_token")
	default:
		return &problem{code: "unsupported_grant_type", text: "grant_type must be authorization_code or refresh_token"}
	}
	secret, g, err := s.secret(r.Context(), kind, plain)
	if err != nil {
		return err
	}
	if kind == store.SecretCode {
		err = g.redeemable(in)
	} else {
		err = belongs(g, in)
	}
	if err != nil {
		return err
	}
	scopes, err := narrowed(g.Scopes, in)
	if err != nil {
		return err
	}
	answer, err := s.exchange(r.Context(), secret, g, scopes)
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, answer)
	return nil
}

// grant is a grant whose code is redeemed.
type grant struct{ store.OAuthGrant }

// secret returns a valid secret and its grant. One that was used before revokes the grant:
// somebody else has it (RFC 9700 §4.14.2).
func (s *Service) secret(ctx context.Context, kind store.SecretKind, plain string) (store.OAuthSecret, grant, error) {
	unusable := invalidGrant("the " + string(kind) + " is wrong, expired, used or revoked")
	secret, g, err := s.Store.OAuthSecret(ctx, id.Hash(plain))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return secret, grant{g}, unusable
	case err != nil:
		return secret, grant{g}, err
	case secret.Kind != kind:
		return secret, grant{g}, unusable
	case !secret.UsedAt.IsZero():
		return secret, grant{g}, s.reused(ctx, g, unusable)
	case !g.RevokedAt.IsZero() || !s.Clock().Before(secret.ExpiresAt) || !s.Clock().Before(g.ExpiresAt):
		return secret, grant{g}, unusable
	}
	return secret, grant{g}, nil
}

// reused revokes a grant, and returns the answer.
func (s *Service) reused(ctx context.Context, g store.OAuthGrant, answer *problem) error {
	revoked, err := s.Store.RevokeOAuthGrant(ctx, g.MerchantID, g.ID, s.Clock())
	if err != nil {
		return err
	}
	if revoked {
		s.Audit.Did(ctx, audit.Merchant(g.MerchantID), "app.disconnect", g.ID, slog.String("reason", "a code or a refresh token was used twice"))
		s.Audit.Record(ctx, audit.OAuthReuse, slog.String("merchantId", g.MerchantID), slog.String("grantId", g.ID))
	}
	return answer
}

// belongs checks that a request comes from the app of the grant, for the same audience.
func belongs(g grant, in url.Values) error {
	if in.Get("client_id") != g.ClientID {
		return invalidGrant("it was issued to another client")
	}
	if in.Has("resource") && !strings.EqualFold(in.Get("resource"), g.Resource) {
		return invalidTarget()
	}
	return nil
}

// redeemable checks that the app that started the flow redeems the code.
func (g grant) redeemable(in url.Values) error {
	if err := belongs(g, in); err != nil {
		return err
	}
	if in.Get("redirect_uri") != g.RedirectURI {
		return invalidGrant("redirect_uri is not that of the authorization request")
	}
	verifier := in.Get("code_verifier")
	if len(verifier) < 43 || len(verifier) > 128 || strings.Trim(verifier, base64url+".~") != "" {
		return invalidGrant("code_verifier must have 43 to 128 unreserved characters")
	}
	sum := sha256.Sum256([]byte(verifier))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(g.Challenge)) != 1 {
		return invalidGrant("code_verifier does not fit the code_challenge")
	}
	return nil
}

// narrowed returns the scopes of the next access token: those of the grant, or fewer.
func narrowed(granted []string, in url.Values) ([]string, error) {
	asked := strings.Fields(in.Get("scope"))
	if len(asked) == 0 {
		return granted, nil
	}
	if slices.ContainsFunc(asked, func(scope string) bool { return !slices.Contains(granted, scope) }) {
		return nil, &problem{code: "invalid_scope", text: "scope must not exceed what was granted: " + strings.Join(granted, " ")}
	}
	return slices.DeleteFunc(slices.Clone(granted), func(scope string) bool { return !slices.Contains(asked, scope) }), nil
}

// exchange uses a secret for the next tokens.
func (s *Service) exchange(ctx context.Context, secret store.OAuthSecret, g grant, scopes []string) (tokens, error) {
	now := s.Clock()
	until := g.CreatedAt.Add(grantLifetime)
	plain, refresh := id.NewCapability(id.Token), id.NewCapability(id.Refresh)
	t := store.AccessToken{
		Hash: id.Hash(plain), ID: id.New(id.AccessToken, now), MerchantID: g.MerchantID, MandateID: g.MandateID, Name: g.ClientName,
		Hint: plain[len(plain)-4:], Scopes: scopes, CreatedAt: now, ExpiresAt: earlier(now.Add(accessLifetime), until), GrantID: g.ID, Resource: g.Resource,
	}
	next := store.OAuthSecret{Hash: id.Hash(refresh), GrantID: g.ID, Kind: store.SecretRefresh, ExpiresAt: earlier(now.Add(refreshLifetime), until)}
	err := s.Store.ExchangeOAuthSecret(ctx, store.OAuthExchange{Used: secret.Hash, Refresh: next, Token: t, At: now, Until: until, MaxTokens: maxTokens})
	switch {
	case errors.Is(err, store.ErrSecretUsed): // by another request at the same time
		return tokens{}, s.reused(ctx, g.OAuthGrant, invalidGrant("it was used before"))
	case errors.Is(err, ledger.ErrNotFound):
		return tokens{}, invalidGrant("it was revoked")
	case err != nil:
		return tokens{}, err
	}
	return tokens{
		Access: plain, Type: "Bearer", ExpiresIn: int(t.ExpiresAt.Sub(now) / time.Second), Refresh: refresh, Scope: strings.Join(scopes, " "),
	}, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
