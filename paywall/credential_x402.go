package paywall

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

const (
	// longestMemory is how long a credential that does not expire soon is remembered.
	longestMemory = HonoredFor
	// memoryMargin outlives the window by the time that a request may take.
	memoryMargin = 2 * time.Minute
)

// planX402 takes PAYMENT-SIGNATURE (version 2).
func (v *visit) planX402() (*purchase, error) {
	p, err := x402.DecodePayload(v.found.value)
	if err != nil {
		return nil, malformedX402(err)
	}
	id, err := p.Identifier()
	if err != nil {
		return nil, malformedX402(err)
	}
	offered := &v.offer.two.Accepts[0]
	if no := v.checkAccepted(p, offered); no != nil {
		return nil, no
	}
	a := p.Payload.Authorization
	if no := v.checkTransfer(a, true); no != nil {
		return nil, no
	}
	claims := []Claim{v.claimTransfer(a, v.found.value)}
	req := x402.FacilitatorRequest{
		X402Version: x402.Version2, PaymentPayload: p.Raw, PaymentRequirements: v.offer.asksTwo, IdempotencyKey: v.settlementKey(claims[0]),
	}
	if id != "" {
		claims = append([]Claim{v.claimIdentifier(a, id)}, claims...)
	}
	failed := func(err error) *refusal {
		return announced(fromTransfer(err), x402.HeaderPaymentResponse, offered.Network)
	}
	return &purchase{
		claims: claims,
		payer:  a.From,
		late:   v.lateTransfer(a),
		verify: func(ctx context.Context) error {
			if err := v.verifyV2(ctx, req); err != nil {
				return failed(err)
			}
			return nil
		},
		prove: func(ctx context.Context) error { return v.proveV2(ctx, req, offered.Network) },
		settle: func(ctx context.Context, state ClaimState) (settled, error) {
			s, err := v.settleV2(ctx, req, state)
			if err != nil {
				return settled{}, failed(err)
			}
			return v.paidBy(X402, s, a, offered.Network), nil
		},
		announce: func(h http.Header, p Payment) { announceX402(h, keyPaymentResponse, p) },
	}, nil
}

// checkAccepted compares what the client accepted with what was offered.
func (v *visit) checkAccepted(p x402.Payload, offered *x402.Requirements) *refusal {
	switch got := p.Accepted; {
	case got.Scheme != offered.Scheme:
		return refuseX402(x402.ReasonUnsupportedScheme, "Only the scheme exact is taken.")
	case got.Network != offered.Network:
		return refuseX402(x402.ReasonInvalidNetwork, "The payment is for another network.")
	case !got.Equal(*offered):
		return refuseX402(x402.ReasonInvalidRequirement, "The payment accepts something that is not offered here.")
	case p.Resource != nil && p.Resource.URL != v.offer.resource:
		return refuseX402(x402.ReasonInvalidRequirement, "The payment is for another resource.")
	}
	return nil
}

// verifyV2 asks whoever settles version 2 to check a payment. A [Settler] of the
// program that has no Verify checks when it settles.
func (v *visit) verifyV2(ctx context.Context, req x402.FacilitatorRequest) error {
	if v.external != nil {
		_, err := v.external.Verify(ctx, req)
		return err
	}
	if s, ok := v.settler.(Verifier); ok {
		_, err := s.Verify(ctx, req)
		return err
	}
	return nil
}

// settleV2 settles at the external facilitator, or else where everything is settled.
func (v *visit) settleV2(ctx context.Context, req x402.FacilitatorRequest, state ClaimState) (x402.Settlement, error) {
	if v.external == nil {
		return settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.settler.SettleTransfer(ctx, req) })
	}
	s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.external.Settle(ctx, req) })
	if state == Retried && alreadyUsed(err) {
		// The first try may have landed: the service looks at the chain.
		return v.settler.SettleTransfer(ctx, req)
	}
	return s, err
}

// alreadyUsed reports whether a facilitator refuses because the authorization was used.
func alreadyUsed(err error) bool {
	var refused *x402.RefusedError
	return errors.As(err, &refused) && (refused.Reason == x402.ReasonNonceUsed || refused.Reason == x402.ReasonTransactionState)
}

// announced adds the header of a refused settlement, if it is a refusal.
func announced(no *refusal, header, network string) *refusal {
	if no.status == http.StatusPaymentRequired || no.code == codePending {
		no.settlement, no.network = header, network
	}
	return no
}

// planX402V1 takes X-PAYMENT (version 1).
func (v *visit) planX402V1() (*purchase, error) {
	p, err := x402.DecodePayloadV1(v.found.value)
	if err != nil {
		return nil, malformedX402(err)
	}
	offered := &v.offer.one.Accepts[0]
	if p.Scheme != offered.Scheme {
		return nil, refuseX402(x402.ReasonUnsupportedScheme, "Only the scheme exact is taken.")
	}
	if p.Network != offered.Network {
		return nil, refuseX402(x402.ReasonInvalidNetwork, "The payment is for another network.")
	}
	a := p.Payload.Authorization
	if no := v.checkTransfer(a, false); no != nil {
		return nil, no
	}
	claim := v.claimTransfer(a, v.found.value)
	req := x402.FacilitatorRequest{
		X402Version: x402.Version1, PaymentPayload: p.Raw, PaymentRequirements: v.offer.asksOne, IdempotencyKey: v.settlementKey(claim),
	}
	return &purchase{
		claims: []Claim{claim},
		payer:  a.From,
		late:   v.lateTransfer(a),
		settle: func(ctx context.Context, _ ClaimState) (settled, error) {
			s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.settler.SettleTransfer(ctx, req) })
			if err != nil {
				return settled{}, announced(fromTransfer(err), x402.HeaderPaymentResponseV1, offered.Network)
			}
			return v.paidBy(X402V1, s, a, offered.Network), nil
		},
		announce: func(h http.Header, p Payment) { announceX402(h, keyPaymentResponseV1, p) },
	}, nil
}
