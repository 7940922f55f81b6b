package api

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	maxTokenName = 100 // characters
	maxTokenDays = 90
)

// createToken creates an access token. Its secret is in this response alone.
func (a *API) createToken(ctx context.Context, c call[client.AccessTokenParams]) (reply, error) {
	if !c.Merchant.Active {
		return reply{}, &ledger.Refusal{Code: ledger.MerchantInactive, RequestID: c.RequestID}
	}
	n, life, err := newToken(c.In)
	if err != nil {
		return reply{}, err
	}
	for _, s := range n.Scopes { // a key gives no more than it has
		if err := a.permit(ctx, c.caller, client.Scope(s)); err != nil {
			return reply{}, err
		}
	}
	n.MerchantID = c.Merchant.ID
	if c.In.Mandate != "" {
		m, err := a.Payments.Mandate(ctx, c.Merchant.ID, c.In.Mandate)
		if err != nil {
			return reply{}, err
		}
		if m.MerchantID != c.Merchant.ID {
			return reply{}, ledger.ErrNotFound
		}
		n.MandateID = m.ID
	}
	plain, t, err := a.Accounts.IssueToken(ctx, n, life)
	if err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "token.create", t.ID, slog.String("scopes", strings.Join(t.Scopes, " ")), slog.String("mandateId", t.MandateID))
	a.Audit.Record(ctx, audit.TokenCreated, slog.String("merchantId", c.Merchant.ID), slog.String("tokenId", t.ID))
	view := a.tokenView(t)
	view.Token = plain
	return reply{Body: view}, nil
}

// newToken validates the parameters of a token, and applies the defaults.
func newToken(in client.AccessTokenParams) (t store.AccessToken, life time.Duration, err error) {
	if err := text.Check(in.Name, maxTokenName); err != nil {
		return t, 0, invalid("name", err.Error())
	}
	t.Name = in.Name
	if in.Scopes == nil {
		in.Scopes = client.Scopes()
	}
	for _, s := range client.Scopes() {
		if slices.Contains(in.Scopes, s) {
			t.Scopes = append(t.Scopes, string(s))
		}
	}
	unknown := func(s client.Scope) bool { return !slices.Contains(client.Scopes(), s) }
	if len(in.Scopes) == 0 || slices.ContainsFunc(in.Scopes, unknown) {
		return t, 0, invalid("scopes", "must name at least one of pay, balance and revoke, and nothing else")
	}
	days := in.ExpiresInDays
	if days == 0 {
		days = maxTokenDays
	}
	if days < 1 || days > maxTokenDays {
		return t, 0, invalid("expiresInDays", fmt.Sprintf("must be an integer, 1 to %d", maxTokenDays))
	}
	return t, time.Duration(days) * 24 * time.Hour, nil
}

func (a *API) listTokens(ctx context.Context, c call[struct{}]) (reply, error) {
	size, after, err := pageOf(c, id.AccessToken, "an access token of yours")
	if err != nil {
		return reply{}, err
	}
	list, err := a.Accounts.Tokens(ctx, c.Merchant.ID, after, size+1)
	if err != nil {
		return reply{}, err
	}
	page := client.AccessTokenPage{HasMore: len(list) > size, Data: []client.AccessToken{}}
	for _, t := range list[:min(len(list), size)] {
		page.Data = append(page.Data, a.tokenView(t))
	}
	return reply{Body: page}, nil
}

func (a *API) revokeToken(ctx context.Context, c call[struct{}]) (reply, error) {
	t, revoked, err := a.Accounts.RevokeToken(ctx, c.Merchant.ID, c.Request.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if revoked {
		a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "token.revoke", t.ID)
		a.Audit.Record(ctx, audit.TokenRevoked, slog.String("merchantId", c.Merchant.ID), slog.String("tokenId", t.ID))
	}
	return reply{Body: a.tokenView(t)}, nil
}

func (a *API) tokenView(t store.AccessToken) client.AccessToken {
	v := client.AccessToken{
		ID: t.ID, Name: t.Name, LastFour: t.Hint, Status: client.TokenActive, MandateID: t.MandateID,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.UsedAt, RevokedAt: t.RevokedAt,
	}
	for _, s := range t.Scopes {
		v.Scopes = append(v.Scopes, client.Scope(s))
	}
	switch {
	case !t.RevokedAt.IsZero():
		v.Status = client.TokenRevoked
	case !a.Clock().Before(t.ExpiresAt):
		v.Status = client.TokenExpired
	}
	return v
}
