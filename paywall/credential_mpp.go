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

// planMPP plans the payment of a credential of the Payment scheme. It is settled like a
// payment of x402 version 2, because the same transfer is signed.
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
	offered := v.accept.two
	payload, err := json.Marshal(x402.Payload{
		X402Version: x402.Version2, Resource: &v.offer.two.Resource, Accepted: offered, Payload: exact, Extensions: v.offer.two.Extensions,
	})
	if err != nil {
		return nil, err
	}
	claim := v.claimTransfer(a, v.found.paid.Challenge.ID)
	req := x402.FacilitatorRequest{
		X402Version: x402.Version2, PaymentPayload: payload, PaymentRequirements: v.accept.asksTwo, IdempotencyKey: v.settlementKey(claim),
		Source: "mpp",
	}
	return &purchase{
		claims: []Claim{claim},
		payer:  a.From,
		late:   late,
		settle: func(ctx context.Context, _ ClaimState) (settled, error) {
			s, err := settleTransfer(ctx, func(ctx context.Context) (x402.Settlement, error) { return v.submit(ctx, req) })
			if err != nil {
				no := fromTransfer(err)
				if no.status == http.StatusPaymentRequired {
					no.problem = mpp.ProblemVerificationFailed
				}
				return settled{}, no
			}
			return v.paidBy(CredentialMPP, s, a, offered.Network), nil
		},
		announce: func(h http.Header, p Payment) {
			receipt := mpp.Receipt{Method: mpp.MethodEVM, Reference: p.Transaction, Status: mpp.StatusSuccess, Timestamp: v.clock()}
			if header, err := receipt.Header(); err == nil {
				h.Set(mpp.HeaderReceipt, header)
			}
		},
	}, nil
}

// lateAuthorization is lateTransfer with the problem types of the Payment scheme.
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

// checkChallenge checks that this gate issued the challenge for this offer. If the challenge
// has expired, late is the refusal.
func (v *visit) checkChallenge(c mpp.Challenge) (late, no *refusal) {
	if c.Method != mpp.MethodEVM || c.Intent != mpp.IntentCharge {
		return nil, refuseMPP(mpp.ProblemMethodUnsupported, "method_unsupported", "This method of payment is not offered here.")
	}
	if !v.signer.Verify(c) {
		return nil, refuseMPP(mpp.ProblemInvalidChallenge, "invalid_challenge", "The challenge was not issued by this server, or was changed.")
	}
	expires, err := c.ExpiresAt()
	if err != nil || expires.IsZero() {
		return nil, refuseMPP(mpp.ProblemInvalidChallenge, "invalid_challenge", "The challenge has no expiry.")
	}
	if !v.clock().Before(expires) {
		late = refuseMPP(mpp.ProblemPaymentExpired, "payment_expired", "The challenge has expired.")
	}
	for _, a := range v.offer.accepts {
		if c.Realm == v.offer.realm && c.Request == a.request && c.Digest == "" {
			v.accept = a
			return late, nil
		}
	}
	if v.offer.cheaper(c.Request) {
		return nil, refuseMPP(mpp.ProblemPaymentInsufficient, "payment_insufficient", "The challenge that was paid asks for less than this costs.")
	}
	return nil, refuseMPP(mpp.ProblemInvalidChallenge, "invalid_challenge", "The challenge is for another payment.")
}

// cheaper reports whether a signed request asks for less of a token than the offer.
func (o *offer) cheaper(request string) bool {
	data, err := mpp.DecodeBase64(request)
	if err != nil {
		return false
	}
	var asked mpp.ChargeRequest
	if json.Unmarshal(data, &asked) != nil || !x402.IsAmount(asked.Amount) {
		return false
	}
	for _, a := range o.accepts {
		if asked.Currency == a.asset.Address && asked.MethodDetails.ChainID == a.network.ChainID {
			return x402.CompareAmounts(asked.Amount, a.amount) < 0
		}
	}
	return false
}

// readTransfer returns the signed transfer of a credential. Its nonce must be that of the
// challenge, so that no other transfer of the payer is accepted.
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
