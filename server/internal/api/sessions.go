package api

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	maxAllowed        = 32
	maxReturnURLBytes = 2048
)

type sessionBody struct {
	MaxPerTxCents        int64 `json:"maxPerTxCents"`
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents"`
	limitsBody
	RequestedRail      string    `json:"requestedRail"`
	AllowedMerchantIDs []string  `json:"allowedMerchantIds"`
	ExpiresAt          time.Time `json:"expiresAt"`
	ReturnURL          string    `json:"returnUrl"`
	Metadata           metadata  `json:"metadata"`
	IdempotencyKey     string    `json:"idempotencyKey"`
}

func (a *API) createSession(ctx context.Context, c call[sessionBody]) (reply, error) {
	if err := c.unbound(); err != nil {
		return reply{}, err
	}
	if !c.Merchant.Active {
		return reply{}, &ledger.Refusal{Code: ledger.MerchantInactive, RequestID: c.RequestID}
	}
	terms, err := a.sessionTerms(ctx, c.Merchant, c.In)
	if err != nil {
		return reply{}, err
	}
	if err := a.checkReturnURL(c.In.ReturnURL); err != nil {
		return reply{}, err
	}
	extra, err := c.In.Metadata.check()
	if err != nil {
		return reply{}, err
	}
	key := c.In.IdempotencyKey
	if key != "" || c.Request.Header.Get("Idempotency-Key") != "" {
		if key, err = idempotencyKey(key, c.Request.Header); err != nil {
			return reply{}, err
		}
	}
	s, err := a.Payments.CreateSession(ctx, payment.NewSession{
		Merchant: c.Merchant, Terms: terms, DefaultExpiry: c.In.ExpiresAt.IsZero(), ReturnURL: c.In.ReturnURL, Metadata: extra,
		IdempotencyKey: c.ownKey(key),
	})
	if err != nil {
		return reply{}, err
	}
	return reply{Replayed: s.Replayed, Body: client.Session{
		SessionToken: s.Token, SetupURL: a.Payments.SetupURL(s.Token), Status: client.SessionStatus(s.Status), ExpiresAt: s.ExpiresAt,
	}}, nil
}

// sessionTerms validates the terms that a merchant asks for, and applies the defaults.
func (a *API) sessionTerms(ctx context.Context, m ledger.Merchant, in sessionBody) (ledger.Terms, error) {
	var t ledger.Terms
	var err error
	if t.MaxPerTx, err = limit("maxPerTxCents", in.MaxPerTxCents); err != nil {
		return t, err
	}
	if t.MaxMonthly, err = limit("maxMonthlySpendCents", in.MaxMonthlySpendCents); err != nil {
		return t, err
	}
	if t.MaxPerTx > t.MaxMonthly {
		return t, invalid("maxPerTxCents", "must not exceed maxMonthlySpendCents")
	}
	if err = in.apply(&t.Limits); err != nil {
		return t, err
	}
	if t.Rails, err = a.requestedRails(in.RequestedRail); err != nil {
		return t, err
	}
	if t.Payees, err = a.allowed(ctx, m, in.AllowedMerchantIDs); err != nil {
		return t, err
	}
	now := a.Clock()
	t.ExpiresAt = in.ExpiresAt.Truncate(time.Second)
	switch {
	case in.ExpiresAt.IsZero():
		t.ExpiresAt = now.AddDate(1, 0, 0).Truncate(time.Second)
	case !t.ExpiresAt.After(now):
		return t, invalid("expiresAt", "must be in the future")
	case t.ExpiresAt.After(now.AddDate(2, 0, 0)):
		return t, invalid("expiresAt", "must be within two years")
	}
	return t, nil
}

func limit(param string, cents int64) (ledger.Micros, error) {
	switch {
	case cents == 0:
		return 0, invalid(param, fmt.Sprintf("is required: an integer of US cents, 1 to %d", payment.MaxLimitCents))
	case cents < 0 || cents > payment.MaxLimitCents:
		return 0, invalid(param, fmt.Sprintf("must be an integer of US cents, 1 to %d", payment.MaxLimitCents))
	}
	return money.Cents(cents).Micros()
}

func (a *API) requestedRails(requested string) ([]rail.Name, error) {
	rails := map[string][]rail.Name{
		"": {rail.Card, rail.Chain}, "both": {rail.Card, rail.Chain},
		"fiatrail": {rail.Card}, "chainrail": {rail.Chain},
	}[requested]
	if rails == nil {
		return nil, invalid("requestedRail", "must be fiatrail, chainrail or both")
	}
	if rails = a.Payments.Configured(rails); len(rails) == 0 {
		return nil, invalid("requestedRail", "is not available at this service")
	}
	return rails, nil
}

// allowed validates the allowlist: ids of merchants, or "*" alone.
func (a *API) allowed(ctx context.Context, m ledger.Merchant, ids []string) ([]string, error) {
	const param = "allowedMerchantIds"
	switch {
	case len(ids) == 0:
		return []string{m.ID}, nil
	case len(ids) > maxAllowed:
		return nil, invalid(param, fmt.Sprintf("must hold at most %d merchants", maxAllowed))
	case len(ids) == 1 && ids[0] == ledger.AnyPayee:
		return ids, nil
	}
	seen := map[string]bool{}
	for _, merchantID := range ids {
		if !id.Valid(id.Merchant, merchantID) || seen[merchantID] {
			return nil, invalid(param, `must hold merchant ids (mer_…), each once, or "*" alone`)
		}
		seen[merchantID] = true
	}
	unknown, err := a.Payments.UnknownMerchant(ctx, ids)
	if err == nil && unknown != "" {
		err = invalid(param, "names a merchant that does not exist: "+unknown)
	}
	return ids, err
}

func (a *API) checkReturnURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || len(s) > maxReturnURLBytes || !text.Clean(s) || u.Host == "" || u.User != nil ||
		(u.Scheme != "https" && (u.Scheme != "http" || !a.Loopback || !loopback.Name(u.Hostname()))) {
		return invalid("returnUrl", "must be an https URL without credentials, of at most 2048 bytes")
	}
	return nil
}

func (a *API) session(ctx context.Context, c call[struct{}]) (reply, error) {
	if err := c.unbound(); err != nil {
		return reply{}, err
	}
	s, err := a.Payments.Session(ctx, c.Request.PathValue("sessionToken"))
	if err != nil {
		return reply{}, err
	}
	if s.MerchantID != c.Merchant.ID {
		return reply{}, ledger.ErrNotFound
	}
	return reply{Body: sessionView(s)}, nil
}

func sessionView(s payment.Session) client.Session {
	return client.Session{
		Status: client.SessionStatus(s.Status), Mandate: s.Mandate, MandateID: s.MandateID,
		FailureReason: s.FailureReason, ExpiresAt: s.ExpiresAt,
	}
}
