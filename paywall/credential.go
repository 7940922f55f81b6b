package paywall

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// found is the credential of a request. Its kind is empty if the request has none.
type found struct {
	kind  Credential
	value string         // of the header; empty for CredentialMPP
	paid  mpp.Credential // only for CredentialMPP
}

// headers are the credentials that have a header of their own, by canonical name, in the
// order in which they are checked.
var headers = [...]struct {
	key  string
	kind Credential
}{
	{HeaderBundleToken, CredentialBundle},
	{"Payment-Signature", CredentialX402},
	{"X-Payment", CredentialX402V1},
	{HeaderMandate, CredentialMandate},
}

// find returns the credential of a request. Several credentials are refused, because the
// client may have been made to pay twice.
func find(h http.Header) (f found, err error) {
	count := 0
	for _, known := range headers {
		for _, value := range h[known.key] {
			if value = strings.Trim(value, " \t"); value != "" {
				f = found{kind: known.kind, value: value}
				count++
			}
		}
	}
	if len(h[mpp.HeaderCredential]) > 0 || len(h[mpp.HeaderCredentialAside]) > 0 {
		paid, errPaid := mpp.CredentialFrom(h)
		switch {
		case errors.Is(errPaid, mpp.ErrNoCredential):
		case errors.Is(errPaid, mpp.ErrMultipleCredentials):
			count += 2
		default:
			f, err = found{kind: CredentialMPP, paid: paid}, errPaid
			count++
		}
	}
	if count > 1 {
		return found{}, &refusal{
			status: http.StatusBadRequest, code: codeMultiple, message: "Send one payment credential, not several.",
			problem: "", reason: "",
		}
	}
	if err != nil {
		return f, refuseMPP(mpp.ProblemMalformedCredential, codeMalformed, "The credential is malformed.")
	}
	return f, nil
}

// visit is a request with a credential.
type visit struct {
	*Gate
	request *http.Request
	offer   *offer
	accept  *accept // the token of a signed transfer
	id      string
	found   found
}

// purchase is a credential that passed all checks that need no call.
type purchase struct {
	// claims are claimed in order before the settlement. A bundle has none.
	claims []Claim
	// replace replaces a claim whose key the gate took from an earlier request, because another
	// request has claimed the key since. Nil if the key is the client's or new.
	replace func(ctx context.Context) error
	// repeat is the Idempotency-Key with which a request by bare mandate can be repeated.
	repeat string
	// payer is the payer that a signed transfer names, or "" for other credentials.
	payer string
	// mandateID is the id of the mandate that pays, or "" for other credentials.
	mandateID string
	// late is the refusal of a credential that is no longer valid, unless it was settled
	// before.
	late *refusal
	// verify checks the credential without moving money. It is not called if the
	// credential was settled before. May be nil.
	verify func(ctx context.Context) error
	// prove checks that the payer signed the credential. It is called if the first of two
	// claims was paid with another credential, and set if there are two.
	prove func(ctx context.Context) error
	// settle moves the money. state is that of the claim.
	settle func(ctx context.Context, state ClaimState) (settled, error)
	// capture settles what was metered of a price that the credential itself holds; zero
	// gives it back. Nil if the [Capturer] holds the price.
	capture func(ctx context.Context, micros int64) (client.Charge, error)
	// receipt is the canonical name of the header of a metered receipt. Default:
	// X-Payment-Response.
	receipt string
	// announce sets the response headers of the payment.
	announce func(h http.Header, p Payment)
	// ended is called when the claim ends. May be nil.
	ended func(ctx context.Context, end End)
}

// settled is the outcome of a settlement.
type settled struct {
	payment Payment
	// replayed reports that this is the result of an earlier settlement.
	replayed bool
}

// plan checks the credential without any call.
func (v *visit) plan(ctx context.Context) (*purchase, error) {
	switch v.found.kind {
	case CredentialBundle:
		return v.planBundle()
	case CredentialX402:
		return v.planX402()
	case CredentialX402V1:
		return v.planX402V1()
	case CredentialMandate:
		return v.planMandate(ctx)
	case CredentialMPP:
		return v.planMPP()
	}
	return nil, errors.New("unknown credential")
}

// fingerprint returns a hash of secret texts, for comparison. It includes the length of
// each part.
func fingerprint(parts ...string) string {
	var stack [2 << 10]byte // long enough for most inputs, and not on the heap
	b := stack[:0]
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// claimTransfer returns the claim of a signed transfer. Its key is the authorization,
// whatever the protocol, because the token accepts each nonce once. The authorization is
// public once it is settled, so the claim is also bound to the text of the credential.
func (v *visit) claimTransfer(a x402.Authorization, text string) Claim {
	until := a.ValidBeforeTime()
	if latest := v.clock().Add(longestMemory); until.After(latest) {
		until = latest
	}
	asset := &v.accept.two
	return Claim{
		Key:     strings.ToLower(strings.Join([]string{"transfer", asset.Network, asset.Asset, a.From, a.Nonce}, ":")),
		Binding: fingerprint(v.accept.binding, text),
		Until:   until.Add(memoryMargin),
	}
}

// settlementKey returns the Idempotency-Key of a claim's settlement. All attempts of the
// instances that share the claim use the same key, and other gates use others.
func (v *visit) settlementKey(c Claim) string {
	scope := ""
	if m, ok := v.redemptions.(*Memory); ok {
		scope = m.scope
	}
	return fingerprint("settlement", scope, c.Key, c.Binding)
}

// checkTransfer compares a signed transfer with the offer. If exactly is false, the amount
// may be above the price. The facilitator verifies the signature, and lateTransfer checks
// the validity window.
func (v *visit) checkTransfer(a x402.Authorization, exactly bool) *refusal {
	want := &v.accept.two
	order := x402.CompareAmounts(a.Value, want.Amount)
	switch {
	case !x402.SameAddress(a.To, want.PayTo):
		return refuseX402(x402.ReasonRecipient, "The payment is to another payee.")
	case order < 0, exactly && order > 0:
		return refuseX402(x402.ReasonValue, "The amount is not the price.")
	}
	return nil
}

// lateTransfer returns the refusal of a transfer outside of its validity window, or nil.
func (v *visit) lateTransfer(a x402.Authorization) *refusal {
	if reason := a.CheckWindow(v.clock()); reason != "" {
		return refuseX402(reason, "The payment is not valid now.")
	}
	return nil
}

// submit settles a transfer at the facilitator of its token.
func (v *visit) submit(ctx context.Context, req x402.FacilitatorRequest) (x402.Settlement, error) {
	if f := v.accept.facilitator; f != nil {
		return f.Settle(ctx, req)
	}
	return v.settler.SettleTransfer(ctx, req)
}

// facilitatorV2 returns the facilitator of payments of version 2, or nil if the settler
// settles them.
func (v *visit) facilitatorV2() *x402.Facilitator {
	if f := v.accept.facilitator; f != nil {
		return f
	}
	return v.external
}

// settleTransfer submits a transfer. If it was broadcast and is not confirmed yet, it
// submits the transfer once more.
func settleTransfer(ctx context.Context, submit func(context.Context) (x402.Settlement, error)) (x402.Settlement, error) {
	s, err := submit(ctx)
	var pending *x402.PendingError
	if !errors.As(err, &pending) {
		return s, err
	}
	s, err = submit(ctx)
	s.Replayed = false // the first result was this request's own
	return s, err
}

// paidBy returns the payment of a settled transfer.
func (v *visit) paidBy(kind Credential, s x402.Settlement, a x402.Authorization, network string) settled {
	return settled{replayed: s.Replayed, payment: Payment{
		Credential: kind, Scheme: x402.SchemeExact, Payer: a.From, Transaction: s.Transaction, Network: network,
		AmountMicros: microsOf(a.Value, v.accept.asset.Decimals),
	}}
}

// Canonical names of the headers of an x402 outcome.
const (
	keyPaymentResponse   = "Payment-Response"
	keyPaymentResponseV1 = "X-Payment-Response"
)

// announceX402 sets the header of an x402 outcome.
func announceX402(h http.Header, key string, p Payment) {
	h[key] = []string{x402.Settlement{Success: true, Transaction: p.Transaction, Network: p.Network, Payer: p.Payer}.Header()}
}
