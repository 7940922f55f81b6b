package paywall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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
	key, err := v.uptoKey(claim)
	if err != nil {
		return nil, storeDown(err)
	}
	req := x402.FacilitatorRequest{
		X402Version: x402.Version2, PaymentPayload: p.Raw, PaymentRequirements: *offered, IdempotencyKey: key,
	}
	verified, fresh := false, false
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
		settle: func(ctx context.Context, state ClaimState) (settled, error) {
			fresh = state == ClaimFresh
			if !verified { // an earlier request may have ended between its claim and the handler
				if late := v.lateUpto(a); late != nil {
					return settled{}, late
				}
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
			first := fresh
			fresh = false
			return v.captureUpto(ctx, req, first)
		},
		receipt: keyPaymentResponse,
	}, nil
}

// uptoKey returns the Idempotency-Key of the verification and settlement of a permit. The
// instances that share a store use the same key. The service verifies and settles a permit
// for one key, so that no other gate serves it at the same time.
func (v *visit) uptoKey(c Claim) (string, error) {
	scope := ""
	if store, ok := v.redemptions.(scoped); ok {
		ctx, cancel := v.bookkeeping(v.request.Context())
		defer cancel()
		var err error
		if scope, err = store.scopeText(ctx); err != nil {
			return "", err
		}
	}
	return fingerprint("upto", scope, c.Key, c.Binding), nil
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

// Bounds of how much the deadline of a permit may differ from the one that is asked for: a
// tenth of the time, for clocks that differ, for the person who signs and for repeats.
const (
	leastUptoSlack   = 10 * time.Second
	longestUptoSlack = time.Minute
)

// lateUpto returns the refusal of a permit that is not valid for as long as the offer asks, or
// nil. A payer who chose an earlier deadline would end the meter before the handler counts.
func (v *visit) lateUpto(a x402.UptoAuthorization) *refusal {
	if no := v.stopped(strings.ToLower(a.From)); no != nil {
		return no
	}
	now := v.clock()
	asked := time.Duration(v.accept.upto.MaxTimeoutSeconds) * time.Second
	slack := min(max(asked/10, leastUptoSlack), longestUptoSlack)
	until := a.DeadlineTime()
	switch reason := a.CheckWindow(now); {
	case reason != "":
		return refuseX402(reason, "The payment is not valid now.")
	case until.Before(now.Add(asked - slack)):
		return refuseX402(x402.ReasonUptoExpired, fmt.Sprintf("The deadline of the payment is too early: sign one that ends %d seconds after now.", v.accept.upto.MaxTimeoutSeconds))
	case until.After(now.Add(asked + slack)):
		return refuseX402(x402.ReasonInvalidPayload, fmt.Sprintf("The deadline of the payment is too late: sign one that ends %d seconds after now.", v.accept.upto.MaxTimeoutSeconds))
	}
	return nil
}

// verifyUpto verifies a permit at the service.
func (v *visit) verifyUpto(ctx context.Context, req x402.FacilitatorRequest) error {
	s, ok := v.settler.(Verifier)
	if !ok { // cannot happen: the scheme is offered only with the service
		return errors.New("the settler verifies nothing")
	}
	_, err := s.Verify(ctx, req)
	var no *x402.RefusedError
	if errors.As(err, &no) && no.Reason == x402.ReasonUptoMerchant {
		v.upto.refused(ctx, v.route.PayTo)
	}
	return err
}

// captureUpto settles a permit for an amount, and returns the outcome in the form of a
// capture. Zero ends the permit without a transfer. The first settlement of a payment that
// was new to this gate cannot be a repeat: another gate has settled it, and was paid.
func (v *visit) captureUpto(ctx context.Context, req x402.FacilitatorRequest, first bool) (client.Charge, error) {
	s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.settler.SettleTransfer(ctx, req) })
	var refused *x402.RefusedError
	var pending *x402.PendingError
	switch {
	case err == nil && first && s.Replayed:
		return client.Charge{Status: client.Failed, FailureReason: client.FailureReason(x402.ReasonDuplicate)}, nil
	case err == nil:
		return client.Charge{Status: client.Succeeded, TxHash: s.Transaction}, nil
	case errors.As(err, &pending):
		return client.Charge{Status: client.Pending, TxHash: pending.Transaction}, nil
	case errors.As(err, &refused) && isFinalUpto(refused.Reason):
		return client.Charge{Status: client.Failed, FailureReason: client.FailureReason(safeReason(refused.Reason))}, nil
	}
	return client.Charge{}, err
}
