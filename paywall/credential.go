package paywall

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// found is the one credential of a request; its kind is empty where there is none.
type found struct {
	kind  Credential
	value string         // of the header; empty for MPP
	paid  mpp.Credential // MPP alone
}

// headers are the credentials that are a header of their own, in the order in
// which they are looked at, under the names that package http keeps.
var headers = [...]struct {
	key  string
	kind Credential
}{
	{HeaderBundleToken, Bundle},
	{"Payment-Signature", X402},
	{"X-Payment", X402V1},
	{HeaderMandate, Mandate},
}

// find looks for the one credential. Two, be they of one kind, are refused: the
// client may have been led to pay twice, and neither can be preferred.
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
			f, err = found{kind: MPP, paid: paid}, errPaid
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

// visit is a request that brought a credential.
type visit struct {
	*Gate
	request *http.Request
	offer   *offer
	id      string
	found   found
}

// purchase is a credential that passed every check that needs no call.
type purchase struct {
	// claims are taken in order before anything is settled; none for a bundle.
	claims []Claim
	// payer is whom a signed transfer names; "" if the credential is no transfer.
	payer string
	// late is why the credential is not valid any more. It is refused with it,
	// unless it was settled before.
	late *refusal
	// verify checks the credential without moving money, unless it was settled
	// before. May be nil.
	verify func(ctx context.Context) error
	// prove checks that the payer signed the credential, if only an earlier claim of
	// several is paid. It is set if there are several.
	prove func(ctx context.Context) error
	// settle moves the money, given the state of the claim.
	settle func(ctx context.Context, state ClaimState) (settled, error)
	// announce sets the headers that name the payment.
	announce func(h http.Header, p Payment)
	// ended is called when the claim has ended. May be nil.
	ended func(ctx context.Context, end End)
}

// settled is the outcome of a settlement.
type settled struct {
	payment Payment
	// replayed: the first result of an earlier settlement, given again.
	replayed bool
}

// plan checks the credential as far as it can be without a call.
func (v *visit) plan(ctx context.Context) (*purchase, error) {
	switch v.found.kind {
	case Bundle:
		return v.planBundle()
	case X402:
		return v.planX402()
	case X402V1:
		return v.planX402V1()
	case Mandate:
		return v.planMandate(ctx)
	case MPP:
		return v.planMPP()
	}
	return nil, errors.New("unknown credential")
}

// fingerprint stands for secret texts where only equality counts. Lengths keep
// the parts apart.
func fingerprint(parts ...string) string {
	var stack [2 << 10]byte // long enough for most, and nothing for the collector
	b := stack[:0]
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// claimTransfer is the claim on a signed transfer. An authorization is one under
// every protocol, since the token takes its nonce once. Its parts are public once
// it is settled, so that the claim is bound to the very text that was sent too.
func (v *visit) claimTransfer(a x402.Authorization, text string) Claim {
	until := a.ValidBeforeTime()
	if latest := v.clock().Add(longestMemory); until.After(latest) {
		until = latest
	}
	asset := &v.offer.two.Accepts[0]
	return Claim{
		Key:     strings.ToLower(strings.Join([]string{"transfer", asset.Network, asset.Asset, a.From, a.Nonce}, ":")),
		Binding: fingerprint(v.offer.binding, text),
		Until:   until.Add(memoryMargin),
	}
}

// settlementKey is the Idempotency-Key that a claim is settled with: the same
// for every try of everybody who shares the claim, and another for everybody else.
func (v *visit) settlementKey(c Claim) string {
	scope := ""
	if m, ok := v.redemptions.(*Memory); ok {
		scope = m.scope
	}
	return fingerprint("settlement", scope, c.Key, c.Binding)
}

// checkTransfer compares a signed transfer with the offer; exactly requires the
// price and not more. Whether the signature is good is for the facilitator, and
// the window is checked by lateTransfer.
func (v *visit) checkTransfer(a x402.Authorization, exactly bool) *refusal {
	want := &v.offer.two.Accepts[0]
	order := x402.CompareAmounts(a.Value, want.Amount)
	switch {
	case !x402.SameAddress(a.To, want.PayTo):
		return refuseX402(x402.ReasonRecipient, "The payment is to somebody else.")
	case order < 0, exactly && order > 0:
		return refuseX402(x402.ReasonValue, "The payment is not of the price asked.")
	}
	return nil
}

// lateTransfer is why a transfer is outside of its window; nil if it is inside.
func (v *visit) lateTransfer(a x402.Authorization) *refusal {
	if reason := a.CheckWindow(v.clock()); reason != "" {
		return refuseX402(reason, "The payment is not valid now.")
	}
	return nil
}

// settleTransfer submits a transfer, and once more if the first answer is that it
// was sent and is not confirmed.
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

// paidBy is the payment that a settled transfer makes.
func (v *visit) paidBy(kind Credential, s x402.Settlement, a x402.Authorization, network string) settled {
	return settled{replayed: s.Replayed, payment: Payment{
		Credential: kind, Scheme: x402.SchemeExact, Payer: a.From, Transaction: s.Transaction, Network: network,
		AmountMicros: microsOf(a.Value, v.asset.Decimals),
	}}
}

// x402's two headers of an outcome, as package http keeps their names.
const (
	keyPaymentResponse   = "Payment-Response"
	keyPaymentResponseV1 = "X-Payment-Response"
)

// announceX402 sets one of them.
func announceX402(h http.Header, key string, p Payment) {
	h[key] = []string{x402.Settlement{Success: true, Transaction: p.Transaction, Network: p.Network, Payer: p.Payer}.Header()}
}
