package paywall

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402"
)

// planUpto plans the payment of PAYMENT-SIGNATURE with the scheme upto: the wallet has signed
// at most the price, which counts as held once it is verified, and what was metered is settled
// after the handler. A payment-identifier has no effect: nothing is paid unless the request is
// served.
func (v *visit) planUpto(p x402.Payload) (*purchase, error) {
	a, offered := p.Upto.Authorization, v.accept.upto
	switch {
	case !x402.SameAddress(a.Witness.To, offered.PayTo):
		return nil, refuseX402(x402.ReasonUptoRecipient, "The payment is to another payee.")
	case a.Permitted.Amount != offered.Amount:
		return nil, refuseX402(x402.ReasonUptoAmount, "The amount is not the price.")
	case !x402.SameAddress(a.Permitted.Token, offered.Asset):
		return nil, refuseX402(x402.ReasonUptoToken, "The payment is in another token.")
	}
	claim := v.claimUpto(a)
	req := x402.FacilitatorRequest{
		X402Version: x402.Version2, PaymentPayload: p.Raw, PaymentRequirements: *offered, IdempotencyKey: v.settlementKey(claim),
	}
	verified := false
	verify := func(ctx context.Context) error {
		if err := v.verifyUpto(ctx, req); err != nil {
			return announced(fromTransfer(err), x402.HeaderPaymentResponse, offered.Network)
		}
		verified = true
		return nil
	}
	return &purchase{
		claims: []Claim{claim},
		payer:  a.From,
		late:   v.lateUpto(a),
		verify: verify,
		settle: func(ctx context.Context, _ ClaimState) (settled, error) {
			if !verified {
				if err := verify(ctx); err != nil {
					return settled{}, err
				}
			}
			return settled{payment: Payment{
				Credential: CredentialX402, Scheme: x402.SchemeUpto, Payer: a.From, Network: offered.Network,
				AuthorizedMicros: v.offer.micros, AuthorizedUntil: a.DeadlineTime(),
			}}, nil
		},
		announce: func(h http.Header, p Payment) { announceX402(h, keyPaymentResponse, p) },
		capture: func(ctx context.Context, micros int64) (client.Charge, error) {
			req := req
			req.PaymentRequirements = uptoAmount(*offered, baseUnits(micros, v.accept.asset))
			return v.captureUpto(ctx, req)
		},
		receipt: keyPaymentResponse,
	}, nil
}

// claimUpto returns the claim of a permit, which Permit2 accepts once.
func (v *visit) claimUpto(a x402.UptoAuthorization) Claim {
	until := a.DeadlineTime()
	if latest := v.clock().Add(longestMemory); until.After(latest) {
		until = latest
	}
	return Claim{
		Key:     strings.ToLower(strings.Join([]string{"upto", v.accept.upto.Network, a.From, a.Nonce}, ":")),
		Binding: fingerprint(v.accept.binding, v.found.value),
		Until:   until.Add(memoryMargin),
	}
}

// lateUpto returns the refusal of a permit that is not valid for long enough to meter and to
// settle, or nil.
func (v *visit) lateUpto(a x402.UptoAuthorization) *refusal {
	now := v.clock()
	reason := a.CheckWindow(now)
	if reason == "" {
		reason = a.CheckWindow(now.Add(captureMargin))
	}
	if reason == "" {
		return nil
	}
	return refuseX402(reason, "The payment is not valid now, or not for long enough.")
}

// verifyUpto verifies a permit at the service.
func (v *visit) verifyUpto(ctx context.Context, req x402.FacilitatorRequest) error {
	s, ok := v.settler.(Verifier)
	if !ok { // cannot happen: the scheme is offered only with the service
		return errors.New("the settler verifies nothing")
	}
	_, err := s.Verify(ctx, req)
	return err
}

// captureUpto settles a permit for an amount, and returns the outcome in the form of a
// capture. Zero ends the permit without a transfer.
func (v *visit) captureUpto(ctx context.Context, req x402.FacilitatorRequest) (client.Charge, error) {
	s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.settler.SettleTransfer(ctx, req) })
	var refused *x402.RefusedError
	var pending *x402.PendingError
	switch {
	case err == nil:
		return client.Charge{Status: client.Succeeded, TxHash: s.Transaction}, nil
	case errors.As(err, &pending):
		return client.Charge{Status: client.Pending, TxHash: pending.Transaction}, nil
	case errors.As(err, &refused) && refused.Reason != x402.ReasonGasBudget: // a used-up budget passes
		return client.Charge{Status: client.Failed, FailureReason: client.FailureReason(safeReason(refused.Reason))}, nil
	}
	return client.Charge{}, err
}
