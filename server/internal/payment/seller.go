package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// SellerPayment asks for the credential that pays a seller outside of the service.
type SellerPayment struct {
	// Account is the merchant whose access token the agent has.
	Account ledger.Merchant
	// Mandate is the mandate's token or id.
	Mandate string
	// Offer is what the seller asks for, and Resource the URL that is paid for.
	Offer    SellerOffer
	Resource string
	// IdempotencyKey belongs to the mandate: an agent shares none with a merchant.
	IdempotencyKey string
	RequestID      string
}

// SellerCredential is a charge that pays a seller, with the header that carries the payment.
type SellerCredential struct {
	Charged

	// Name and Value are the header. They are empty while nothing is signed, and if the
	// charge failed before that.
	Name, Value string
	// ExpiresAt is until when the seller can settle; zero without a header.
	ExpiresAt time.Time
}

// purchasePutOff is the longest pause between two looks at whether a seller has settled.
const purchasePutOff = 15 * time.Second

// PaySeller reserves the price of an offer under a mandate and returns the header that pays it.
// A repeat with the same key returns the same header. The charge stays pending until the seller
// has settled. Without a header the charge has failed, or the money is still on its way and the
// call must be repeated.
//
// It returns an [*OfferError], an [*UnpayableError], [ErrNoRail], and the errors of
// [Service.PayAsAgent].
func (s *Service) PaySeller(ctx context.Context, p SellerPayment) (SellerCredential, error) {
	buyer, ok := s.buyer()
	if !ok {
		return SellerCredential{}, ErrNoRail
	}
	offer, err := p.Offer.read(s.Clock())
	if err != nil {
		return SellerCredential{}, err
	}
	request, err := s.sellerCharge(ctx, p, offer, buyer)
	if err != nil {
		return SellerCredential{}, err
	}
	done, err := s.begin()
	if err != nil {
		return SellerCredential{}, err
	}
	defer done()
	reserve, err := s.reserve(ctx, request)
	if err != nil {
		return SellerCredential{}, err
	}
	reserve.Source = ledger.SourceSeller
	reserved, err := s.reserved(ctx, reserve)
	if err != nil {
		return SellerCredential{}, err
	}
	// From here on the purchase is finished even if the caller goes away.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), railTimeout)
	defer cancel()
	c, bought, err := s.buy(within, buyer, reserved.Charge, offer)
	if err != nil {
		return SellerCredential{}, err
	}
	result := SellerCredential{Charged: Charged{Charge: c, Replayed: reserved.Replayed}}
	if bought.Signed == nil {
		return result, nil
	}
	if result.Name, result.Value, err = offer.encode(*bought.Signed); err != nil {
		return SellerCredential{}, fmt.Errorf("encode credential of %s: %w", c.ID, err)
	}
	result.ExpiresAt = bought.Signed.Authorization.ValidBeforeTime().UTC()
	return result, nil
}

func (s *Service) buyer() (rail.Buyer, bool) {
	one, ok := s.Rails.Rail(rail.Chain)
	if !ok {
		return nil, false
	}
	buyer, ok := one.(rail.Buyer)
	return buyer, ok
}

// sellerCharge returns the request for the charge of an offer. Nothing was stored before.
func (s *Service) sellerCharge(ctx context.Context, p SellerPayment, offer asked, buyer rail.Buyer) (ChargeRequest, error) {
	if err := offer.payableIn(buyer.Dollar()); err != nil {
		return ChargeRequest{}, err
	}
	amount, err := offer.micros()
	if err != nil {
		return ChargeRequest{}, err
	}
	if buyer.CheckPayee(offer.payTo) != nil {
		return ChargeRequest{}, unpayable("its payee %q is no wallet that can be paid", short(offer.payTo))
	}
	resource, err := sellerResource(p.Resource)
	if err != nil {
		return ChargeRequest{}, err
	}
	m, err := s.agentMandate(ctx, p.Account, p.Mandate, p.RequestID)
	if err != nil {
		return ChargeRequest{}, err
	}
	if len(s.Configured([]rail.Name{rail.Chain})) == 0 {
		return ChargeRequest{}, ErrNoRail
	}
	switch merchant, err := s.Accounts.MerchantByWallet(ctx, offer.payTo); {
	case errors.Is(err, ledger.ErrNotFound):
	case err != nil:
		return ChargeRequest{}, err
	case !merchant.Active: // a suspended merchant is no outside seller either
		return ChargeRequest{}, &ledger.Refusal{Code: ledger.MerchantInactive, RequestID: p.RequestID}
	}
	return ChargeRequest{
		Payee: ledger.WalletPayee(offer.payTo), Amount: amount, Currency: "usdc", Description: accessTo(resource),
		IdempotencyKey: p.IdempotencyKey, RequestID: p.RequestID, kind: ledger.SellerKey, scope: m.ID, mandateID: m.ID,
		rails: []rail.Name{rail.Chain}, resource: normalResource(resource),
		same: []string{p.Account.ID, strings.ToLower(offer.payTo), p.Resource, offer.nonce, fmt.Sprint(p.Offer.X402Version)},
	}, nil
}

// buy begins or continues a purchase on its rail, and settles it if it has ended.
func (s *Service) buy(ctx context.Context, buyer rail.Buyer, c ledger.Charge, offer asked) (ledger.Charge, rail.Purchased, error) {
	reference := rail.Reference(c.ID, rail.Chain)
	if c.Status != ledger.ChargePending {
		if len(c.Rails) == 0 {
			return c, rail.Purchased{}, nil
		}
		bought, err := buyer.PurchaseOutcome(ctx, reference)
		return c, bought, err
	}
	in, known, err := s.chainInstrument(ctx, c)
	if err != nil {
		return c, rail.Purchased{}, err
	}
	if !known { // its mandate does not pay by the chain
		c, err = s.settle(ctx, c, ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}})
		return c, rail.Purchased{}, err
	}
	bought, err := s.buyOrFollow(ctx, buyer, c, rail.Purchase{
		Reference: reference, MandateID: c.MandateID, Instrument: in, PayTo: c.PayTo, Amount: c.Amount,
		Window: offer.windowOf(c), Nonce: offer.nonce,
	})
	if err == nil && bought.Status != rail.Pending {
		c, err = s.endPurchase(ctx, buyer, c, bought)
		return c, bought, err
	}
	if err != nil {
		s.Logger.WarnContext(ctx, "outcome of purchase unknown, will ask again", slog.String("transactionId", c.ID), slog.String("error", err.Error()))
	}
	if c.LeaseOwner == "" { // a repeat does not keep recovery waiting
		return c, bought, nil
	}
	return s.putOffPurchase(context.WithoutCancel(ctx), c), bought, nil // still pending: a repeat finds it
}

// buyOrFollow begins or continues a purchase while its mandate may pay. A repeat may come after
// the person has paused or revoked the mandate, or after its end: then nothing is signed anymore.
func (s *Service) buyOrFollow(ctx context.Context, buyer rail.Buyer, c ledger.Charge, p rail.Purchase) (rail.Purchased, error) {
	m, err := s.Ledger.Mandate(ctx, c.MandateID)
	if err != nil {
		return rail.Purchased{}, fmt.Errorf("read mandate: %w", err)
	}
	if payable(m, s.Clock()) {
		return buyer.Buy(ctx, p)
	}
	return buyer.PurchaseOutcome(ctx, p.Reference)
}

// chainInstrument returns the instrument with which the chain pays a charge.
func (s *Service) chainInstrument(ctx context.Context, c ledger.Charge) (rail.Instrument, bool, error) {
	if len(c.Rails) == 0 {
		return rail.Instrument{}, false, nil
	}
	all, err := s.Instruments(ctx, c.MandateID, c.Card)
	if err != nil {
		return rail.Instrument{}, false, err
	}
	for _, in := range all {
		if in.Rail == rail.Chain {
			return in, true, nil
		}
	}
	return rail.Instrument{}, false, nil
}

// endPurchase settles a purchase that has ended, and then frees what it left in the session
// account.
func (s *Service) endPurchase(ctx context.Context, buyer rail.Buyer, c ledger.Charge, bought rail.Purchased) (ledger.Charge, error) {
	c, err := s.settle(ctx, c, ledger.Settlement{Rail: rail.Chain, Outcome: bought.Outcome, Funded: bought.Funded})
	if err != nil {
		return c, err
	}
	return c, buyer.PurchaseRecorded(ctx, rail.Reference(c.ID, rail.Chain))
}

// finishPurchase follows a purchase for recovery. It signs nothing.
func (s *Service) finishPurchase(ctx context.Context, c ledger.Charge, how attempt) (ledger.Charge, error) {
	buyer, ok := s.buyer()
	if !ok {
		return s.putOffPurchase(ctx, c), nil
	}
	within, cancel := context.WithTimeout(ctx, how.within)
	defer cancel()
	bought, err := buyer.PurchaseOutcome(within, rail.Reference(c.ID, rail.Chain))
	if err == nil && bought.Status != rail.Pending {
		return s.endPurchase(ctx, buyer, c, bought)
	}
	if err != nil {
		s.Logger.WarnContext(ctx, "outcome of purchase unknown, will ask again",
			slog.String("transactionId", c.ID), slog.Int("asked", c.Asked), slog.String("error", err.Error()))
	}
	return s.putOffPurchase(ctx, c), nil
}

func (s *Service) putOffPurchase(ctx context.Context, c ledger.Charge) ledger.Charge {
	off, _, err := s.Ledger.PutOff(ctx, c, s.Clock().Add(min(putOff(c.Asked), purchasePutOff)))
	if err != nil {
		return c // its lease expires by itself
	}
	return off
}

// windowOf returns the window of a charge's purchase, which is the same in every repeat: that
// of a challenge with an expiry is measured from the charge on.
func (a asked) windowOf(c ledger.Charge) time.Duration {
	if a.expires.IsZero() {
		return a.bounded()
	}
	return max(min(a.expires.Sub(c.CreatedAt).Truncate(time.Second), longestWindow), time.Second)
}

// chargeOfPurchase returns the id of the charge that a purchase's reference names.
func chargeOfPurchase(reference string) string {
	return strings.TrimSuffix(reference, rail.Reference("", rail.Chain))
}
