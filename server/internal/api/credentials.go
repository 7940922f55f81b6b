package api

import (
	"context"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

type credentialBody struct {
	Offer          payment.SellerOffer `json:"offer"`
	Resource       string              `json:"resource"`
	IdempotencyKey string              `json:"idempotencyKey"`
}

// createCredential pays a seller outside of the service.
func (a *API) createCredential(ctx context.Context, c call[credentialBody]) (reply, error) {
	idOrToken := c.Request.PathValue("intentMandate")
	if err := c.restrict(idOrToken); err != nil {
		return reply{}, err
	}
	key, err := idempotencyKey(c.In.IdempotencyKey, c.Request.Header)
	if err != nil {
		return reply{}, err
	}
	p, err := a.Payments.PaySeller(ctx, payment.SellerPayment{
		Account: c.Merchant, Mandate: idOrToken, Offer: c.In.Offer, Resource: c.In.Resource, IdempotencyKey: key, RequestID: c.RequestID,
	})
	if err != nil {
		return reply{}, err
	}
	if !p.Replayed {
		a.Audit.DidSoon(ctx, audit.Merchant(c.Merchant.ID), "agent.pay_seller", p.ID, c.attrs()...)
	}
	v := client.Credential{
		TransactionID: p.ID, Status: client.Status(p.Status), AmountMicros: int64(p.Amount), PayTo: p.PayTo, ExpiresAt: p.ExpiresAt,
		FailureReason: client.FailureReason(p.FailureReason), TxHash: p.TxHash,
	}
	if p.Status == ledger.ChargeSucceeded {
		v.Status = client.Completed
	}
	if p.Name != "" {
		v.Header = &client.CredentialHeader{Name: p.Name, Value: p.Value}
	}
	return reply{Body: v, Replayed: p.Replayed}, nil
}

// sweep sends the rest of a session account back.
func (a *API) sweep(ctx context.Context, c call[struct{}]) (reply, error) {
	idOrToken := c.Request.PathValue("intentMandate")
	if err := c.restrict(idOrToken); err != nil {
		return reply{}, err
	}
	s, err := a.Payments.Sweep(ctx, c.Merchant, idOrToken, c.RequestID)
	if err != nil {
		return reply{}, err
	}
	a.Audit.DidSoon(ctx, audit.Merchant(c.Merchant.ID), "mandate.sweep", s.MandateID, c.attrs()...)
	v := client.Sweep{SweepID: s.Reference, Status: client.Pending, AmountMicros: int64(s.Amount), TxHash: s.Outcome.TxHash}
	switch s.Outcome.Status {
	case rail.Succeeded:
		v.Status = client.Completed
	case rail.Refused:
		v.Status = client.Failed
	case rail.Pending, rail.Held, rail.Unseen:
	}
	return reply{Body: v}, nil
}
