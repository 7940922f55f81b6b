package paywall

import (
	"context"
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/x402"
)

// claimIdentifier is the claim on a payment-identifier of a payer. It covers
// payments that the payer signs anew, so it is bound to the offer alone. It is
// remembered for longer than the payment is honored under its own credential, which
// could be served a second time otherwise.
func (v *visit) claimIdentifier(a x402.Authorization, id string) Claim {
	return Claim{
		Key: "identifier:" + fingerprint(a.From, id), Binding: fingerprint(v.offer.binding),
		Until: v.clock().Add(longestMemory + max(memoryMargin, 4*(v.timeout+bookkeeping))),
	}
}

// entitle reports whether the credential may have what was paid for under its
// claim i. A payment identifier is no secret, and the payer that a credential
// names is only what its sender says. So a credential that is not the one that
// paid must be proved to be the payer's.
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
	if own.State == Fresh { // otherwise this very text was verified and sent before
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

// proveV2 checks that the payer signed a payment that is not going to be settled.
func (v *visit) proveV2(ctx context.Context, req x402.FacilitatorRequest, network string) error {
	if _, ok := v.settler.(Verifier); !ok && v.external == nil {
		no := refuse(codeOtherPayment, "A payment with this payment-identifier was made before. Send that one again.")
		no.status = http.StatusConflict
		return no
	}
	err := v.verifyV2(ctx, req)
	if err == nil || (v.signatureFirst() && outOfFunds(err)) { // the payer may have spent the money here
		return nil
	}
	return announced(fromTransfer(err), x402.HeaderPaymentResponse, network)
}

// signatureFirst reports whether a refusal for lack of funds implies a good
// signature. It does from the service; other facilitators may look at the balance first.
func (v *visit) signatureFirst() bool {
	s, ok := v.settler.(*service)
	return ok && s.own && v.external == nil
}

func outOfFunds(err error) bool {
	var refused *x402.RefusedError
	return errors.As(err, &refused) && refused.Reason == x402.ReasonInsufficientFunds
}
