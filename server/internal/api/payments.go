package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	maxDescription    = 500
	maxIdempotencyKey = 255
	maxAmountCents    = 1_000_000_000_000 // keeps the arithmetic far from its ends; every limit is lower
)

type chargeBody struct {
	IntentMandate  string   `json:"intentMandate"`
	AmountCents    int64    `json:"amountCents"`
	Currency       string   `json:"currency"`
	Description    string   `json:"description"`
	IdempotencyKey string   `json:"idempotencyKey"`
	Metadata       metadata `json:"metadata"`
	Tab            bool     `json:"tab"`
	Recipient      string   `json:"recipient"`
}

func (a *API) charge(ctx context.Context, c call[chargeBody]) (reply, error) {
	request, err := chargeRequest(c.In, c.Request.Header)
	if err != nil {
		return reply{}, err
	}
	request.Payee, request.RequestID, request.Tab = c.Merchant, c.RequestID, c.In.Tab
	if c.Token != nil {
		return a.payAsAgent(ctx, c, request)
	}
	if err := ownCharge(c.In, c.Merchant); err != nil {
		return reply{}, err
	}
	return charged(a.Payments.Charge(ctx, request))
}

// ownCharge refuses another recipient: a merchant charges for itself.
func ownCharge(in chargeBody, m ledger.Merchant) error {
	if in.Recipient != "" && in.Recipient != m.ID {
		return invalid("recipient", "is for access tokens: a merchant charges mandates for itself alone")
	}
	return nil
}

// payAsAgent charges a mandate for the recipient that an agent names.
func (a *API) payAsAgent(ctx context.Context, c call[chargeBody], request payment.ChargeRequest) (reply, error) {
	if err := c.restrict(request.Token); err != nil {
		return reply{}, err
	}
	to := c.In.Recipient
	if to != "" && !id.Valid(id.Merchant, to) && !wallet.MatchString(to) {
		return reply{}, invalid("recipient", "must be a merchant id (mer_…) or a wallet address (0x and 40 hexadecimal digits)")
	}
	done, err := a.Payments.PayAsAgent(ctx, payment.AgentPayment{Account: c.Merchant, Recipient: to, Charge: request})
	if err == nil && !done.Replayed {
		a.Audit.DidSoon(ctx, audit.Merchant(c.Merchant.ID), "agent.pay", done.ID, c.attrs()...)
	}
	return charged(done, err)
}

func chargeRequest(in chargeBody, h http.Header) (payment.ChargeRequest, error) {
	var r payment.ChargeRequest
	if in.IntentMandate == "" {
		return r, invalid("intentMandate", "is required: the token that a setup session gave (dtok_…)")
	}
	if in.AmountCents < 1 || in.AmountCents > maxAmountCents {
		return r, invalid("amountCents", fmt.Sprintf("must be an integer from 1 to %d, in US cents", int64(maxAmountCents)))
	}
	if rail.Preferred(in.Currency) == nil {
		return r, invalid("currency", "must be usd, usdc or usdt")
	}
	if err := described(in.Description); err != nil {
		return r, err
	}
	key, err := idempotencyKey(in.IdempotencyKey, h)
	if err != nil {
		return r, err
	}
	amount, err := money.Cents(in.AmountCents).Micros()
	if err != nil {
		return r, invalid("amountCents", "is too large")
	}
	extra, err := in.Metadata.check()
	return payment.ChargeRequest{
		Token: in.IntentMandate, Amount: amount, Currency: in.Currency, Description: in.Description,
		Metadata: extra, IdempotencyKey: key,
	}, err
}

// described checks a description that is shown to people.
func described(s string) error {
	if s == "" {
		return invalid("description", fmt.Sprintf("is required: 1 to %d characters", maxDescription))
	}
	if err := text.Check(s, maxDescription); err != nil {
		return invalid("description", err.Error())
	}
	return nil
}

// idempotencyKey returns the key of the body, or of the header if the body has none.
func idempotencyKey(body string, h http.Header) (string, error) {
	key, header := body, h.Get("Idempotency-Key")
	if key == "" {
		key = header
	}
	if header != "" && header != key {
		return "", invalid("idempotencyKey", "differs from the Idempotency-Key header")
	}
	printable := !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if key == "" || len(key) > maxIdempotencyKey || !printable {
		return "", invalid("idempotencyKey", fmt.Sprintf("is required: 1 to %d printable ASCII characters", maxIdempotencyKey))
	}
	return key, nil
}

// chargeView returns a charge as in the API, which calls succeeded charges completed.
func chargeView(c ledger.Charge) client.Charge {
	v := client.Charge{
		TransactionID: c.ID, Status: client.Status(c.Status), AmountCents: int64(c.Amount.CentsUp()),
		TxHash: c.TxHash, ProcessorPaymentID: c.ProcessorID, FeeMicros: int64(c.Fee),
		FailureReason: client.FailureReason(c.FailureReason), CreatedAt: c.CreatedAt, TabID: c.TabID,
	}
	if c.Status == ledger.ChargeSucceeded {
		v.Status = client.Completed
	}
	if c.Step != "" {
		v.AuthorizedCents, v.AuthorizedUntil = int64(c.Authorized.CentsUp()), &c.AuthorizedUntil
	}
	switch c.Rail {
	case rail.Card:
		v.RailUsed = client.CardUsed
	case rail.Chain:
		v.RailUsed = client.ChainUsed
	}
	return v
}

func (a *API) receipt(ctx context.Context, c call[struct{}]) (reply, error) {
	chargeID := c.Request.PathValue("transactionId")
	if !id.Valid(id.Charge, chargeID) {
		return reply{}, ledger.ErrNotFound
	}
	ch, err := a.Payments.ChargeOf(ctx, c.Merchant.ID, chargeID)
	if err != nil {
		return reply{}, err
	}
	reversed, err := a.Payments.Reversed(ctx, ch)
	if err != nil {
		return reply{}, err
	}
	v := client.Receipt{
		Source: client.Source(ch.Source), Payer: ch.Payer(),
		ID: ch.ID, Status: client.Status(ch.Status), AmountCents: int64(ch.Amount.CentsUp()), AmountMicros: int64(ch.Amount),
		AuthorizedCents: int64(ch.Authorized.CentsUp()), Usage: usageOf(ch), Currency: client.Currency(ch.Currency),
		Rail: client.Rail(ch.Rail), ReceiptURL: a.Payments.ReceiptURL(ch.ID), Description: ch.Description,
		FeeMicros: int64(ch.Fee), TxHash: ch.TxHash, FailureReason: client.FailureReason(ch.FailureReason),
		CreatedAt: ch.CreatedAt, SettledAt: ch.SettledAt, RefundedCents: int64(ch.Refunded.CentsUp()), TabID: ch.TabID,
	}
	if reversed {
		v.Status = client.Reversed
	}
	return reply{Body: v}, nil
}

func usageOf(c ledger.Charge) *client.Usage {
	if c.Usage == nil {
		return nil
	}
	return &client.Usage{Unit: c.Usage.Unit, Quantity: c.Usage.Quantity, UnitPriceMicros: int64(c.Usage.UnitPrice)}
}
