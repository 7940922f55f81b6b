package paywall

import (
	"context"
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/x402"
)

// claimIdentifier returns the claim of a payer's payment-identifier. It covers payments that
// the payer signs again, so it is bound only to the offer. It is remembered for longer than
// its payment is honored: otherwise the payment could be served twice.
func (v *visit) claimIdentifier(a x402.Authorization, id string) Claim {
	return Claim{
		Key: "identifier:" + fingerprint(a.From, id), Binding: fingerprint(v.accept.binding),
		Until: v.clock().Add(longestMemory + max(memoryMargin, 4*(v.timeout+bookkeeping))),
	}
}

// entitle returns an error unless the credential is entitled to the payment of claim i. A
// payment-identifier is not a secret, and the payer that a credential names is not verified.
// So the payer must have signed a credential other than the one that paid.
func (h *hold) entitle(ctx context.Context, i int) error {
	last := len(h.claims) - 1
	if h.entitled || i == last {
		return nil
	}
	own, err := h.redemptions.Peek(ctx, h.claims[last])
	if err != nil {
		return storeDown(err)
	}
	if no := h.given(own.State, 0); no != nil {
		return no
	}
	if own.State == ClaimFresh { // otherwise this credential was verified and sent before
		if h.late != nil {
			return h.late
		}
		if err := h.count(); err != nil {
			return err
		}
		err := h.prove(ctx)
		h.judge(err)
		if err != nil {
			return err
		}
	}
	h.entitled = true
	return nil
}

// proveV2 checks that the payer signed a payment that will not be settled.
func (v *visit) proveV2(ctx context.Context, req x402.FacilitatorRequest, network string) error {
	if _, ok := v.settler.(Verifier); !ok && v.facilitatorV2() == nil {
		no := refuse(codeOtherPayment, "A payment with this payment-identifier was made before. Send that one again.")
		no.status = http.StatusConflict
		return no
	}
	err := v.verifyV2(ctx, req)
	if err == nil || (v.signatureFirst() && outOfFunds(err)) { // the payer may have spent the money on this payment
		return nil
	}
	return announced(fromTransfer(err), x402.HeaderPaymentResponse, network)
}

// signatureFirst reports whether a refusal for insufficient funds implies a valid
// signature. It does at the service; other facilitators may check the balance first.
func (v *visit) signatureFirst() bool {
	s, ok := v.settler.(*service)
	return ok && s.own && v.facilitatorV2() == nil
}

func outOfFunds(err error) bool {
	var refused *x402.RefusedError
	return errors.As(err, &refused) && refused.Reason == x402.ReasonInsufficientFunds
}
