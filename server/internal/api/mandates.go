package api

import (
	"context"
	"log/slog"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/ledger"
)

func (a *API) balance(ctx context.Context, c call[struct{}]) (reply, error) {
	idOrToken := c.Request.PathValue("intentMandate")
	if err := c.restrict(idOrToken); err != nil {
		return reply{}, err
	}
	m, err := a.Payments.Mandate(ctx, c.Merchant.ID, idOrToken)
	if err != nil {
		return reply{}, err
	}
	now := a.Clock()
	spent := m.SpentInMonth(now)
	b := client.Balance{
		MandateID: m.ID, Status: client.MandateStatus(m.Status),
		MaxPerTxCents:              int64(m.Terms.MaxPerTx.CentsDown()),
		MaxMonthlySpendCents:       int64(m.Terms.MaxMonthly.CentsDown()),
		CurrentMonthlySpendCents:   int64(spent.CentsUp()),
		RemainingMonthlySpendCents: int64((m.Terms.MaxMonthly - spent).CentsDown()),
		CurrentMonth:               m.CountingDay(now).Month().String(), ExpiresAt: m.Terms.ExpiresAt, AllowedMerchantIDs: m.Terms.Payees,
		FurtherLimits: furtherLimits(m.Terms.Limits), Limits: limitsOf(m, now), RoundUpRest: m.Terms.RoundUpRest, Paused: !m.PausedAt.IsZero(),
	}
	for _, name := range m.Terms.Rails {
		b.Rails = append(b.Rails, client.Rail(name))
	}
	if m.Status == ledger.MandateActive && !now.Before(m.Terms.ExpiresAt) {
		b.Status = client.MandateExpired
	}
	return reply{Body: b}, nil
}

func (a *API) revoke(ctx context.Context, c call[struct{}]) (reply, error) {
	idOrToken := c.Request.PathValue("intentMandate")
	if err := c.restrict(idOrToken); err != nil {
		return reply{}, err
	}
	m, err := a.Payments.Revoke(ctx, c.Merchant.ID, idOrToken)
	if err != nil {
		return reply{}, err
	}
	a.Audit.Record(ctx, audit.MandateRevoked, slog.String("mandateId", m.ID), slog.String("merchantId", c.Merchant.ID))
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "mandate.revoke", m.ID, c.attrs()...)
	return reply{Body: client.Revocation{Success: true, Status: client.MandateStatus(m.Status)}}, nil
}
