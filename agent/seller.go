package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// SellerService is a [Service] that also pays sellers that do not know it, out of the wallet
// of the mandate. [*client.Client] implements it. If [Config.Service] is none, such sellers
// are paid only by [Config.Wallet].
type SellerService interface {
	Service
	// CreateCredential returns the header that pays a seller's offer.
	CreateCredential(ctx context.Context, mandate string, p client.CredentialParams) (client.Credential, error)
}

// sellerService returns the service that pays the x402 and MPP offers of a 402, or nil: the
// 402 has a way by mandate itself, or the service cannot.
func (t *Transport) sellerService(l *listing) SellerService {
	service, ok := t.cfg.Service.(SellerService)
	if !ok || t.cfg.Mandate == "" || slices.ContainsFunc(l.offers, func(o Offer) bool { return o.Method == Mandate && o.Usable }) {
		return nil
	}
	return service
}

const (
	// fundingPause is the pause between two requests for a credential whose money is still on
	// its way, and fundingWait limits all of them.
	fundingPause = time.Second
	fundingWait  = 30 * time.Second
)

// makeSellerCredential has the service pay an offer of a seller that does not know it.
func (t *Transport) makeSellerCredential(ctx context.Context, c *credential, r *http.Request) error {
	if err := t.caps.check(ctx, c.offer.AmountMicros); err != nil {
		return err
	}
	offer, err := sellerOffer(c.offer)
	if err != nil {
		return err
	}
	params := client.CredentialParams{Offer: offer, Resource: shown(r.URL), IdempotencyKey: "agent_" + randomHex(16)}
	if e := c.entry; e != nil { // before the service is asked, so that a repeat uses the same key
		e.State, e.Funding, e.Until = PurchaseFunding, &params, e.At.Add(unfulfilledLife)
		if err := t.cfg.Journal.Record(ctx, *e, false); err != nil {
			return fmt.Errorf("record the purchase: %w", err)
		}
	}
	return t.fund(ctx, c, params, false)
}

// fund has the service pay what a credential is for. A repeat with the same params, which again
// reports, moves no further money.
func (t *Transport) fund(ctx context.Context, c *credential, params client.CredentialParams, again bool) error {
	service, ok := t.cfg.Service.(SellerService)
	if !ok {
		return errors.New("the service pays no other sellers")
	}
	paid, err := awaitCredential(ctx, service, t.cfg.Mandate, params)
	switch {
	case err != nil && refusesFunding(err, again || paid.Status == client.Pending):
		return err
	case err != nil:
		return c.undecided(err)
	}
	name := map[Method]string{X402: x402.HeaderPaymentSignature, X402V1: x402.HeaderPayment, MPP: mpp.HeaderCredential}[c.offer.Method]
	switch {
	case paid.Status == client.Failed:
		return fmt.Errorf("the service could not pay: %s", paid.FailureReason)
	case paid.Header == nil:
		return c.undecided(errors.New("the service could not pay in time: the money is on its way to the mandate's session account, and pays the next purchase"))
	case paid.Header.Name != name || paid.AmountMicros != c.offer.AmountMicros || !x402.SameAddress(paid.PayTo, c.offer.PayTo):
		return errors.New("the service paid something else")
	}
	t.caps.presented(c.offer.AmountMicros)
	c.header, c.until = map[string]string{name: paid.Header.Value}, paid.ExpiresAt
	return nil
}

// undecidedError is why it is unknown whether the service funds a purchase.
type undecidedError struct{ error }

func (e undecidedError) Unwrap() error { return e.error }

func isUndecided(err error) bool { return errors.As(err, new(undecidedError)) }

// undecided marks an error after which the service may fund a purchase, if the journal has its
// key: the purchase is kept there, and a repeat continues it. The money of one without a key
// goes back by itself.
func (c *credential) undecided(err error) error {
	if c.keyed() && c.entry.State == PurchaseFunding {
		return undecidedError{err}
	}
	return err
}

// fundAgain returns the credential of a purchase that an earlier request left behind before
// anything was sent to the seller. It returns nil if the service does not fund it: the request
// is then a new purchase.
func (v *visit) fundAgain(e *JournalEntry, key requestKey) (*credential, error) {
	c := v.restored(*e, key)
	c.entry, c.last, c.restored = e, unsent, false
	err := ErrOutcomeUnknown
	if e.Funding != nil && v.cfg.Clock().Before(e.Until) {
		err = v.fund(v.request.Context(), c, *e.Funding, true)
	}
	if err == nil {
		err = c.check()
	}
	if err == nil {
		err = v.sending(c, e)
	}
	switch {
	case err == nil:
		return c, nil
	case isUndecided(err):
		v.journal(v.request.Context(), e, true)
		return nil, &PaymentError{Reason: err, URL: shown(v.request.URL)}
	}
	v.forget(e)
	return nil, nil
}

// refusesFunding reports whether an error means that the service does not fund a purchase. Again
// reports whether it was asked before: it may then have funded it, unless it looked for that
// first, or the offer can no longer be paid.
func refusesFunding(err error, again bool) bool {
	var answer *client.Error
	if !errors.As(err, &answer) {
		return false
	}
	if again {
		return answer.Decides() || answer.Code == client.CodeOfferNotPayable
	}
	return answer.Status < http.StatusInternalServerError && answer.Code != client.CodeIdempotencyInProgress
}

// awaitCredential repeats a request until its money has arrived. With an error it returns the
// answer before.
func awaitCredential(ctx context.Context, service SellerService, mandate string, p client.CredentialParams) (paid client.Credential, err error) {
	until := time.Now().Add(fundingWait)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return paid, ctx.Err()
		}
		answer, err := service.CreateCredential(ctx, mandate, p)
		if err != nil {
			return paid, err
		}
		if paid = answer; paid.Header != nil || paid.Status != client.Pending || time.Now().After(until) {
			return paid, nil
		}
		timer.Reset(fundingPause)
	}
}

// sellerOffer returns an offer as the service takes it.
func sellerOffer(o Offer) (s client.SellerOffer, err error) {
	switch o.Method {
	case X402:
		s.X402Version = x402.Version2
		if s.Accepted, err = json.Marshal(o.accepts); err != nil {
			return s, fmt.Errorf("encode offer: %w", err)
		}
		if s.Resource, err = json.Marshal(o.required.Resource); err != nil {
			return s, fmt.Errorf("encode resource: %w", err)
		}
		if extensions := withIdentifier(o.required.Extensions); len(extensions) > 0 {
			s.Extensions, err = json.Marshal(extensions)
		}
	case X402V1:
		s.X402Version = x402.Version1
		s.Accepted, err = json.Marshal(o.acceptsV1)
	case MPP:
		s.Challenge, err = o.challenge.Header()
	default:
		err = errors.New("no transfer")
	}
	if err != nil {
		return s, fmt.Errorf("encode offer: %w", err)
	}
	return s, nil
}
