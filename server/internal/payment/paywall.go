package payment

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// MinimumByCard is the lowest paywall price that a card pays at once. Lower ones are drawn
// from a tab.
const MinimumByCard = ledger.CardMinimum

// PaywallRequest asks to charge a paywall's price to a mandate.
type PaywallRequest struct {
	// Token is a bare mandate or a presentation.
	Token   string
	Price   ledger.Micros
	PayTo   string
	Network string
	// Resource is the URL that is paid for; ResourceText is its spelling in the request.
	Resource     *url.URL
	ResourceText string
	// ChallengeID identifies the challenge that a presentation must answer.
	ChallengeID    string
	IdempotencyKey string
	RequestID      string
	// Hold authorizes the price for this time instead of charging it. Default: a charge.
	Hold time.Duration
	// Admit is called with the mandate's id once its signature is verified, before
	// anything else. If it returns an error, the settlement ends with that error. current
	// is false for a presentation that has expired or was made for another payment: it may
	// be a copy that anyone kept. Default: none.
	Admit func(mandateID string, current bool) error
}

// SettlePaywall charges the price to a mandate, or holds it, for the merchant whose wallet is payTo.
// A bare mandate must name that merchant: a mandate for any merchant does not permit
// every holder to charge it. A presentation must be made for exactly this payment, and
// may pay every payee that the mandate allows. A wallet that belongs to no merchant is
// paid on the chain only, without a fee.
//
// A presentation settles once. Repeating the request under the same idempotency key
// returns the first result, even after the presentation has expired; under another key,
// the presentation is refused.
//
// It returns a [*PresentationError], [ErrNoRail], and the errors of [Service.Charge].
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
	if errors.Is(err, mandate.ErrInvalid) { // not stored: anyone can make up such tokens without end
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

// Payer returns the payer of a charge: the wallet on the chain, or else the mandate's id.
func (s *Service) Payer(ctx context.Context, c ledger.Charge) (string, error) {
	if c.Direct() {
		return c.Payer(), nil
	}
	if c.Rail != rail.Chain {
		return c.MandateID, nil
	}
	instruments, err := s.Instruments(ctx, c.MandateID, c.Card)
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

// charge returns the request that both kinds of settlement share: on the chain if the
// paywall's network is the service's, by card if the price is high enough, or from a tab.
func (s *Service) charge(r PaywallRequest, payee ledger.Merchant) ChargeRequest {
	order := []rail.Name{}
	one, _ := s.Rails.Rail(rail.Chain)
	if n, ok := one.(rail.Networked); ok && n.Network() == r.Network {
		order = append(order, rail.Chain)
	}
	byCard := !ledger.IsWallet(payee.ID) // a card pays registered merchants only
	if byCard && r.Price >= MinimumByCard {
		order = append(order, rail.Card)
	}
	return ChargeRequest{
		Payee: payee, Token: r.Token, Amount: r.Price, Currency: "usdc",
		Description: accessTo(r.Resource), RequestID: r.RequestID, rails: order, Tab: byCard && r.Hold == 0, resource: normalResource(r.Resource),
		hold: r.Hold,
	}
}

// settlePresentation charges the payment of a presentation. Mandate and nonce are the
// idempotency key, so a presentation never moves money twice. The request's own key is
// stored as well, so a retry with a presentation for another challenge does not pay again.
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
	// The scope is the wallet, so that a payee who registers in between is not paid twice.
	c.scope = ledger.WalletPayee(r.PayTo).ID
	c.kind, c.IdempotencyKey = ledger.PresentationKey, id.Hash(p.Mandate.ID+" "+p.Nonce)
	c.bound, c.same = p, []string{r.IdempotencyKey, r.Network, r.ResourceText, p.Nonce}
	// A bare mandate's settlement uses the same key: one key stands for one payment.
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

// differs returns a description of the first value in which the payment differs from the
// presentation, or an empty string.
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
