package paywall

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

const (
	// longestMemory is the longest time for which a credential is remembered.
	longestMemory = HonoredFor
	// memoryMargin is added to the validity window for the duration of a request.
	memoryMargin = 2 * time.Minute
)

// planX402 plans the payment of PAYMENT-SIGNATURE (version 2).
func (v *visit) planX402() (*purchase, error) {
	p, err := x402.DecodePayload(v.found.value)
	if err != nil {
		return nil, malformedX402(err)
	}
	id, err := p.Identifier()
	if err != nil {
		return nil, malformedX402(err)
	}
	if no := v.checkAccepted(p); no != nil {
		return nil, no
	}
	if p.Raw, err = v.offer.declared.correct(p.Raw); err != nil {
		return nil, malformedX402(err)
	}
	if p.Upto != nil {
		return v.planUpto(p)
	}
	offered := &v.accept.two
	a := p.Payload.Authorization
	if no := v.checkTransfer(a, true); no != nil {
		return nil, no
	}
	claims := []Claim{v.claimTransfer(a, v.found.value)}
	req := x402.FacilitatorRequest{
		X402Version: x402.Version2, PaymentPayload: p.Raw, PaymentRequirements: v.accept.asksTwo, IdempotencyKey: v.settlementKey(claims[0]),
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
			return v.paidBy(CredentialX402, s, a, offered.Network), nil
		},
		announce: func(h http.Header, p Payment) { announceX402(h, keyPaymentResponse, p) },
	}, nil
}

// checkAccepted finds the token that a payment accepts, and checks that the payment is for
// this resource.
func (v *visit) checkAccepted(p x402.Payload) *refusal {
	got, network := &p.Accepted, false
	for _, a := range v.offer.accepts {
		if got.Network == a.two.Network {
			network = true
			if got.Equal(a.two) || a.upto != nil && got.Equal(*a.upto) {
				v.accept = a
				break
			}
		}
	}
	switch {
	case got.Scheme != x402.SchemeExact && got.Scheme != x402.SchemeUpto:
		return refuseX402(x402.ReasonUnsupportedScheme, "The scheme is not accepted.")
	case !network:
		return refuseX402(x402.ReasonInvalidNetwork, "The payment is for another network.")
	case v.accept == nil:
		return refuseX402(x402.ReasonInvalidRequirement, "The payment accepts something that is not offered here.")
	case p.Resource != nil && p.Resource.URL != v.offer.resource:
		return refuseX402(x402.ReasonInvalidRequirement, "The payment is for another resource.")
	}
	return nil
}

// verifyV2 verifies a payment of version 2 at the facilitator that settles it. A [Settler]
// without Verify verifies when it settles.
func (v *visit) verifyV2(ctx context.Context, req x402.FacilitatorRequest) error {
	if f := v.facilitatorV2(); f != nil {
		_, err := f.Verify(ctx, req)
		return err
	}
	if s, ok := v.settler.(Verifier); ok {
		_, err := s.Verify(ctx, req)
		return err
	}
	return nil
}

// settleV2 settles a payment of version 2 at the external facilitator, or else with the
// settler.
func (v *visit) settleV2(ctx context.Context, req x402.FacilitatorRequest, state ClaimState) (x402.Settlement, error) {
	if v.external == nil || v.accept.facilitator != nil {
		return settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.submit(ctx, req) })
	}
	s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.external.Settle(ctx, req) })
	if state == ClaimUndecided && alreadyUsed(err) {
		// The first attempt may have succeeded: the service reads the chain.
		return v.settler.SettleTransfer(ctx, req)
	}
	return s, err
}

// alreadyUsed reports whether a facilitator refused a used authorization.
func alreadyUsed(err error) bool {
	var refused *x402.RefusedError
	return errors.As(err, &refused) && (refused.Reason == x402.ReasonNonceUsed || refused.Reason == x402.ReasonTransactionState)
}

// announced sets the header that reports a failed settlement.
func announced(no *refusal, header, network string) *refusal {
	if no.status == http.StatusPaymentRequired || no.code == codePending {
		no.settlement, no.network = header, network
	}
	return no
}

// planX402V1 plans the payment of X-PAYMENT (version 1).
func (v *visit) planX402V1() (*purchase, error) {
	p, err := x402.DecodePayloadV1(v.found.value)
	if err != nil {
		return nil, malformedX402(err)
	}
	if p.Scheme != x402.SchemeExact {
		return nil, refuseX402(x402.ReasonUnsupportedScheme, "Only the scheme exact is accepted.")
	}
	for _, a := range v.offer.accepts {
		if a.v1 && a.one.Network == p.Network {
			v.accept = a
		}
	}
	if v.accept == nil {
		return nil, refuseX402(x402.ReasonInvalidNetwork, "The payment is for another network.")
	}
	offered := &v.accept.one
	a := p.Payload.Authorization
	if no := v.checkTransfer(a, false); no != nil {
		return nil, no
	}
	claim := v.claimTransfer(a, v.found.value)
	req := x402.FacilitatorRequest{
		X402Version: x402.Version1, PaymentPayload: p.Raw, PaymentRequirements: v.accept.asksOne, IdempotencyKey: v.settlementKey(claim),
	}
	return &purchase{
		claims: []Claim{claim},
		payer:  a.From,
		late:   v.lateTransfer(a),
		settle: func(ctx context.Context, _ ClaimState) (settled, error) {
			s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.submit(ctx, req) })
			if err != nil {
				return settled{}, announced(fromTransfer(err), x402.HeaderPaymentResponseV1, offered.Network)
			}
			return v.paidBy(CredentialX402V1, s, a, offered.Network), nil
		},
		announce: func(h http.Header, p Payment) { announceX402(h, keyPaymentResponseV1, p) },
	}, nil
}
