package paywall

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// planMPP takes a credential of the Payment scheme. The service settles it as an
// x402 version 2 payment: what was signed is the same transfer.
func (v *visit) planMPP() (*purchase, error) {
	late, no := v.checkChallenge(v.found.paid.Challenge)
	if no != nil {
		return nil, no
	}
	exact, no := v.readTransfer(v.found.paid)
	if no != nil {
		return nil, no
	}
	a := exact.Authorization
	if no := v.checkTransfer(a, true); no != nil {
		no.problem = mpp.ProblemVerificationFailed
		return nil, no
	}
	if late == nil {
		late = v.lateAuthorization(a)
	}
	offered := v.offer.two.Accepts[0]
	payload, err := json.Marshal(x402.Payload{
		X402Version: x402.Version2, Resource: &v.offer.two.Resource, Accepted: offered, Payload: exact, Extensions: v.offer.two.Extensions,
	})
	if err != nil {
		return nil, err
	}
	claim := v.claimTransfer(a, v.found.paid.Challenge.ID)
	req := x402.FacilitatorRequest{
		X402Version: x402.Version2, PaymentPayload: payload, PaymentRequirements: v.offer.asksTwo, IdempotencyKey: v.settlementKey(claim),
	}
	return &purchase{
		claims: []Claim{claim},
		payer:  a.From,
		late:   late,
		settle: func(ctx context.Context, _ ClaimState) (settled, error) {
			s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.settler.SettleTransfer(ctx, req) })
			if err != nil {
				no := fromTransfer(err)
				if no.status == http.StatusPaymentRequired {
					no.problem = mpp.ProblemVerificationFailed
				}
				return settled{}, no
			}
			return v.paidBy(MPP, s, a, offered.Network), nil
		},
		announce: func(h http.Header, p Payment) {
			receipt := mpp.Receipt{Method: mpp.MethodEVM, Reference: p.Transaction, Status: mpp.StatusSuccess, Timestamp: v.clock()}
			if header, err := receipt.Header(); err == nil {
				h.Set(mpp.HeaderReceipt, header)
			}
		},
	}, nil
}

// lateAuthorization is lateTransfer with the scheme's own problems.
func (v *visit) lateAuthorization(a x402.Authorization) *refusal {
	no := v.lateTransfer(a)
	if no == nil {
		return nil
	}
	no.problem = mpp.ProblemVerificationFailed
	if no.reason == x402.ReasonValidBefore {
		no.problem = mpp.ProblemPaymentExpired
	}
	return no
}

// checkChallenge checks that the challenge that was paid is one of this route.
// If it is, and has expired, late is the refusal.
func (v *visit) checkChallenge(c mpp.Challenge) (late, no *refusal) {
	if c.Method != mpp.MethodEVM || c.Intent != mpp.IntentCharge {
		return nil, refuseMPP(mpp.ProblemMethodUnsupported, "method_unsupported", "This method of payment is not offered here.")
	}
	if !v.signer.Verify(c) {
		return nil, refuseMPP(mpp.ProblemInvalidChallenge, "invalid_challenge", "The challenge is not one of this server, or was changed.")
	}
	expires, err := c.ExpiresAt()
	if err != nil || expires.IsZero() {
		return nil, refuseMPP(mpp.ProblemInvalidChallenge, "invalid_challenge", "The challenge has no expiry.")
	}
	if !v.clock().Before(expires) {
		late = refuseMPP(mpp.ProblemPaymentExpired, "payment_expired", "The challenge has expired.")
	}
	if c.Realm == v.offer.realm && c.Request == v.offer.request && c.Digest == "" {
		return late, nil
	}
	if cheaper(c.Request, v.offer.amount) {
		return nil, refuseMPP(mpp.ProblemPaymentInsufficient, "payment_insufficient", "The challenge that was paid asks for less than this costs.")
	}
	return nil, refuseMPP(mpp.ProblemInvalidChallenge, "invalid_challenge", "The challenge is for something else.")
}

// cheaper reports whether a request that this server signed asks for less than amount.
func cheaper(request, amount string) bool {
	data, err := mpp.DecodeBase64(request)
	if err != nil {
		return false
	}
	var asked mpp.ChargeRequest
	return json.Unmarshal(data, &asked) == nil && x402.IsAmount(asked.Amount) && x402.CompareAmounts(asked.Amount, amount) < 0
}

// readTransfer takes the signed transfer out of a credential. Its nonce binds it
// to the challenge, so that no other transfer of the payer can be passed off as it.
func (v *visit) readTransfer(c mpp.Credential) (e x402.Exact, no *refusal) {
	p, err := mpp.DecodeAuthorization(c.Payload)
	if err != nil {
		return e, malformedMPP(err)
	}
	e = x402.Exact{Signature: p.Signature, Authorization: x402.Authorization{
		From: p.From, To: p.To, Value: p.Value, ValidAfter: p.ValidAfter, ValidBefore: p.ValidBefore, Nonce: p.Nonce,
	}}
	if err := e.Validate(); err != nil {
		return e, malformedMPP(err)
	}
	if !strings.EqualFold(p.Nonce, c.Challenge.Nonce()) {
		return e, refuseMPP(mpp.ProblemVerificationFailed, "verification_failed", "The payment is not bound to the challenge.")
	}
	return e, nil
}

func malformedMPP(err error) *refusal {
	no := refuseMPP(mpp.ProblemMalformedCredential, codeMalformed, "The credential is malformed: "+err.Error()+".")
	var d *x402.DecodeError
	if errors.As(err, &d) {
		no.reason = d.Reason
	}
	return no
}
