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
	service, ok := t.cfg.Service.(SellerService)
	if !ok {
		return errors.New("the service pays no other sellers")
	}
	params := client.CredentialParams{Offer: offer, Resource: shown(r.URL), IdempotencyKey: "agent_" + randomHex(16)}
	paid, err := awaitCredential(ctx, service, t.cfg.Mandate, params)
	if err != nil {
		return err
	}
	name := map[Method]string{X402: x402.HeaderPaymentSignature, X402V1: x402.HeaderPayment, MPP: mpp.HeaderCredential}[c.offer.Method]
	switch {
	case paid.Status == client.Failed:
		return fmt.Errorf("the service could not pay: %s", paid.FailureReason)
	case paid.Header == nil:
		return errors.New("the service could not pay in time: the money is on its way to the mandate's session account, and pays the next purchase")
	case paid.Header.Name != name || paid.AmountMicros != c.offer.AmountMicros || !x402.SameAddress(paid.PayTo, c.offer.PayTo):
		return errors.New("the service paid something else")
	}
	t.caps.presented(c.offer.AmountMicros)
	c.header, c.until = map[string]string{name: paid.Header.Value}, paid.ExpiresAt
	return nil
}

// awaitCredential repeats a request until its money has arrived.
func awaitCredential(ctx context.Context, service SellerService, mandate string, p client.CredentialParams) (client.Credential, error) {
	until := time.Now().Add(fundingWait)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return client.Credential{}, ctx.Err()
		}
		paid, err := service.CreateCredential(ctx, mandate, p)
		if err != nil || paid.Header != nil || paid.Status != client.Pending || time.Now().After(until) {
			return paid, err
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
