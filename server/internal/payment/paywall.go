package payment

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// MinimumByCard is the smallest price of a paywall that a card pays.
const MinimumByCard = 50 * money.MicrosPerCent

// PaywallRequest asks to take a paywall's price from a mandate.
type PaywallRequest struct {
	// Token is a bare mandate or a presentation.
	Token   string
	Price   ledger.Micros
	PayTo   string
	Network string
	// Resource is what is paid for, ResourceText as the request had it.
	Resource     *url.URL
	ResourceText string
	// ChallengeID is what a presentation must answer.
	ChallengeID    string
	IdempotencyKey string
	RequestID      string
	// Admit is called with the mandate's id once its signature is verified, before
	// anything else is done. Its error ends the settlement. Current reports whether the
	// mandate, or its presentation for this payment, can be new: a presentation that has
	// expired or was made for another payment may be a copy that anybody kept. Nil: no calls.
	Admit func(mandateID string, current bool) error
}

// SettlePaywall takes the price from a mandate for the merchant whose wallet is
// to be paid. A bare mandate must name that merchant: one that allows anybody is
// no permission for who happens to hold it. A presentation must be made for
// exactly this payment, and may pay whomever the mandate allows: a wallet of no
// merchant by chain alone, and without a fee.
//
// A presentation is settled once: again under the same idempotency key it answers
// what the first time did, also after it expired; under another key it is refused.
//
// Errors are those of [Service.Charge], a [*PresentationError], [ErrNoRail].
func (s *Service) SettlePaywall(ctx context.Context, r PaywallRequest) (Charged, error) {
	p, err := s.Verifier.VerifyPresentation(ctx, r.Token, mandate.Expect{
		Audience: r.Resource.Scheme + "://" + r.Resource.Host, Nonce: r.ChallengeID, AllowUnbound: true, AllowStale: true,
	})
	var broken *mandate.Error
	if errors.As(err, &broken) {
		if problem := bindingProblem(broken.Reason); problem != "" {
			return Charged{}, &PresentationError{Problem: problem}
		}
	}
	if err == nil && r.Admit != nil {
		current := !p.Mandate.Bound || !p.Stale && r.differs(p) == ""
		if err := r.Admit(p.Mandate.ID, current); err != nil {
			return Charged{}, err
		}
	}
	if err == nil && p.Mandate.Bound {
		return s.settlePresentation(ctx, r, p)
	}
	if errors.Is(err, mandate.ErrInvalid) { // not remembered: anybody can make up such tokens, without end
		return Charged{}, &ledger.Refusal{Code: ledger.MandateInvalid, RequestID: r.RequestID}
	}
	payee, err := s.Accounts.MerchantByWallet(ctx, r.PayTo)
	if errors.Is(err, ledger.ErrNotFound) {
		return Charged{}, &ledger.Refusal{Code: ledger.MerchantNotAllowed, RequestID: r.RequestID}
	}
	if err != nil {
		return Charged{}, err
	}
	c := s.charge(r, payee)
	c.kind, c.named, c.IdempotencyKey = ledger.PaywallKey, true, r.IdempotencyKey
	return s.Charge(ctx, c)
}

// Payer is who paid a charge: the wallet on a chain, else the mandate.
func (s *Service) Payer(ctx context.Context, c ledger.Charge) (string, error) {
	if c.Rail != rail.Chain {
		return c.MandateID, nil
	}
	instruments, err := s.Instruments(ctx, c.MandateID)
	if err != nil {
		return "", err
	}
	for _, in := range instruments {
		if in.Rail == c.Rail {
			return in.Customer, nil
		}
	}
	return c.MandateID, nil
}

// charge is what both kinds of settlement have in common: by chain where the
// paywall's network is ours, by card where the price is high enough.
func (s *Service) charge(r PaywallRequest, payee ledger.Merchant) ChargeRequest {
	order := []rail.Name{}
	one, _ := s.Rails.Rail(rail.Chain)
	if n, ok := one.(rail.Networked); ok && n.Network() == r.Network {
		order = append(order, rail.Chain)
	}
	if r.Price >= MinimumByCard && !ledger.IsWallet(payee.ID) { // a card pays registered merchants alone
		order = append(order, rail.Fiat)
	}
	return ChargeRequest{
		Payee: payee, Token: r.Token, Amount: r.Price, Currency: "usdc",
		Description: accessTo(r.Resource), RequestID: r.RequestID, rails: order, resource: normalResource(r.Resource),
	}
}

// settlePresentation charges what a presentation was made for. Mandate and nonce
// are the idempotency key, so that no two settlements of them can both move money.
// The request's own key is remembered beside it, so that a retry with a presentation
// for another challenge does not pay again.
func (s *Service) settlePresentation(ctx context.Context, r PaywallRequest, p *mandate.Presentation) (Charged, error) {
	if problem := r.differs(p); problem != "" {
		return Charged{}, &PresentationError{Problem: problem}
	}
	payee, err := s.Accounts.MerchantByWallet(ctx, r.PayTo)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && p.Mandate.AllowsAnyPayee():
		payee = ledger.WalletPayee(r.PayTo)
	case errors.Is(err, ledger.ErrNotFound):
		return Charged{}, &ledger.Refusal{Code: ledger.MerchantNotAllowed, RequestID: r.RequestID}
	case err != nil:
		return Charged{}, err
	}
	c := s.charge(r, payee)
	if len(s.Configured(c.rails)) == 0 && ledger.IsWallet(payee.ID) {
		return Charged{}, ErrNoRail
	}
	// Of the wallet, so that one who registers in between is not paid twice.
	c.scope = ledger.WalletPayee(r.PayTo).ID
	c.kind, c.IdempotencyKey = ledger.PresentationKey, id.Hash(p.Mandate.ID+" "+p.Nonce)
	c.bound, c.same = p, []string{r.IdempotencyKey, r.Network, r.ResourceText, p.Nonce}
	// The key of a bare mandate's settlement too: one key is for one payment, however it is made.
	c.requestKey = ledger.IdempotencyKey{MerchantID: payee.ID, Kind: ledger.PaywallKey, Key: r.IdempotencyKey}
	charged, err := s.Charge(ctx, c)
	var refusal *ledger.Refusal
	switch {
	case errors.Is(err, ledger.ErrRequestKeyMismatch):
		return Charged{}, err
	case errors.Is(err, ledger.ErrIdempotencyMismatch):
		return Charged{}, &PresentationError{Problem: "A presentation for this challenge was settled before, under another idempotency key or for another payment."}
	case p.Stale && errors.As(err, &refusal) && refusal.Code == ledger.MandateInvalid:
		return Charged{}, &PresentationError{Problem: bindingProblem(mandate.KBStale)}
	}
	return charged, err
}

// differs names the first part of the payment that the presentation was not made for.
func (r PaywallRequest) differs(p *mandate.Presentation) string {
	const other = "The presentation was made for another payment: "
	t := p.Transaction
	switch {
	case r.ChallengeID == "":
		return "challengeId is missing: a presentation is good only for the challenge that it answers."
	case t.AmountMicros != int64(r.Price):
		return other + "price differs."
	case !strings.EqualFold(t.PayTo, r.PayTo):
		return other + "payTo differs."
	case t.Network != r.Network:
		return other + "network differs."
	case t.Resource != r.ResourceText:
		return other + "resource differs."
	}
	return ""
}
