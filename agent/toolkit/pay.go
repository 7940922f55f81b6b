package toolkit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
)

// PayIn asks to pay someone from a mandate.
type PayIn struct {
	// AmountCents is the amount in US cents.
	AmountCents int64 `json:"amountCents" jsonschema:"US cents"`
	// Currency is usd, usdc or usdt. Required.
	Currency string `json:"currency" jsonschema:"usd, usdc or usdt"`
	// Description is shown to the person. Required.
	Description string `json:"description" jsonschema:"Shown to the person"`
	// Recipient is a merchant's id (mer_…) or a wallet address. Required.
	Recipient string `json:"recipient" jsonschema:"Merchant id (mer_…) or wallet (0x…)"`
	// MandateID is the id of the mandate that pays (del_…). Default: Config.Mandate.
	MandateID string `json:"mandateId,omitempty" jsonschema:"del_…; default: the configured mandate"`
	// IdempotencyKey identifies the payment. Default: derived from the payment.
	IdempotencyKey string `json:"idempotencyKey,omitempty" jsonschema:"Same key, same payment"`
	// PayAgain allows a payment that equals one of the last ten minutes.
	PayAgain bool `json:"payAgain,omitzero" jsonschema:"Make an equal payment of the last 10 minutes a second time"`
}

// PayOut is the receipt of a payment.
type PayOut struct {
	// TransactionID is the id of the payment (txn_…).
	TransactionID string `json:"transactionId"`
	// Status is completed, authorized, pending or failed.
	Status string `json:"status" jsonschema:"completed, authorized, pending or failed"`
	// AmountCents is the amount in US cents.
	AmountCents int64 `json:"amountCents"`
	// RailUsed is fiat or crypto.
	RailUsed string `json:"railUsed,omitempty"`
	// TxHash is the hash of the transaction on chain.
	TxHash string `json:"txHash,omitempty"`
	// FailureReason is the reason of a failure.
	FailureReason string `json:"failureReason,omitempty"`
}

// payFor is the time for which Pay waits for the outcome of a payment.
const payFor = 20 * time.Second

// Pay pays a recipient that the mandate allows. Without a mandate, the error is
// [CodeMandateNeeded] with a link where a person confirms one.
func (k *Kit) Pay(ctx context.Context, in PayIn, progress Progress) (PayOut, error) {
	m := k.mandate(in.MandateID)
	if m == "" {
		return PayOut{}, k.needMandate(ctx, in)
	}
	if in.Recipient == "" {
		return PayOut{}, invalid("recipient", "is required: a merchant id (mer_…) or a wallet address (0x…)")
	}
	guard := key("pay", m, strings.ToLower(in.Recipient), in.AmountCents, in.Description)
	equal := key(guard, in.Currency)
	if in.IdempotencyKey == "" {
		in.IdempotencyKey = k.repeats.pending(equal) // also with PayAgain: that one may have been made
	}
	guarded := in.IdempotencyKey == "" && !in.PayAgain
	if guarded {
		if err := k.repeats.seen(guard); err != nil {
			return PayOut{}, err
		}
	}
	p := client.ChargeParams{
		Mandate: m, AmountCents: in.AmountCents, Currency: client.Currency(in.Currency), Description: in.Description, Recipient: in.Recipient,
		IdempotencyKey: in.IdempotencyKey, Tab: true,
	}
	if guarded { // the same key in every process, so that each refuses the repetition
		p.IdempotencyKey = "tool-" + key(guard, in.Currency, k.cfg.Clock().Unix()/int64(window/time.Second))
	}
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = "tool-again-" + key(guard, strconv.FormatInt(k.cfg.Clock().UnixNano(), 10))
	}
	c, err := k.service.Charge(ctx, p)
	undecided := undecidedPayment(err) || in.IdempotencyKey != "" && !decides(err) // an earlier one may have been made
	k.repeats.decide(equal, p.IdempotencyKey, !undecided)
	if err != nil {
		return PayOut{}, k.explainPayment(err, undecided, p.IdempotencyKey, m)
	}
	if c.Replayed && guarded && c.Status.Paid() {
		k.repeats.add(guard, c.TransactionID)
		return PayOut{}, duplicate(c.TransactionID)
	}
	if c.Status != client.Failed {
		k.repeats.add(guard, c.TransactionID)
	}
	return k.await(ctx, p, c, progress)
}

// undecidedPayment reports whether the payment may have been made although there is an error.
func undecidedPayment(err error) bool {
	if err == nil {
		return false
	}
	var refused *client.Error
	if !errors.As(err, &refused) {
		return true
	}
	var unknown *client.UnknownOutcomeError
	return errors.As(err, &unknown) || slices.Contains([]client.Code{client.CodeInternal, client.CodeUnavailable, client.CodeIdempotencyInProgress}, refused.Code)
}

// decides reports whether the outcome of a payment is known, and not only that of the last
// attempt: a refusal for too many requests says nothing of an earlier one.
func decides(err error) bool {
	var refused *client.Error
	return err == nil || errors.As(err, &refused) && !undecidedPayment(err) && refused.Decides()
}

// explainPayment returns err as an [*Error]. If the payment may have been made, it has the key
// that repeats it, also in another process.
func (k *Kit) explainPayment(err error, undecided bool, idempotencyKey, mandate string) error {
	explained := k.explain(err, mandate)
	var e *Error
	if undecided && errors.As(explained, &e) {
		e.IdempotencyKey = idempotencyKey
		e.Next = "Call again with the same input and this idempotencyKey: it repeats the same payment instead of making another."
	}
	return explained
}

// await repeats a pending payment under its key, which reads its state.
func (k *Kit) await(ctx context.Context, p client.ChargeParams, c client.Charge, progress Progress) (PayOut, error) {
	deadline := time.Now().Add(payFor)
	for step := 1; c.Status == client.Pending && time.Now().Add(pollPause).Before(deadline); step++ {
		progress.report(step, "waiting for the payment to be confirmed")
		again, ok := k.again(ctx, p)
		if !ok {
			break // the payment exists: report its state
		}
		c = again
	}
	return PayOut{
		TransactionID: c.TransactionID, Status: string(c.Status), AmountCents: c.AmountCents, RailUsed: string(c.RailUsed), TxHash: c.TxHash,
		FailureReason: string(c.FailureReason),
	}, nil
}

// again waits a moment and repeats a payment under its key.
func (k *Kit) again(ctx context.Context, p client.ChargeParams) (client.Charge, bool) {
	if sleep.For(ctx, pollPause) != nil {
		return client.Charge{}, false
	}
	c, err := k.service.Charge(ctx, p)
	return c, err == nil
}

// needMandate asks a person for a mandate that allows the payment.
func (k *Kit) needMandate(ctx context.Context, in PayIn) error {
	s, err := k.Setup(ctx, SetupIn{MaxAmountPerTxCents: in.AmountCents, MaxMonthlySpendCents: in.AmountCents})
	if err != nil {
		return err
	}
	return &Error{
		Code: CodeMandateNeeded, Message: "No mandate is configured, and none was named. Nothing was paid.", Remedy: NewMandate,
		Next:     "Give setupUrl to the person, wait with poll_setup_session, then call again with the mandateId.",
		SetupURL: s.SetupURL, SessionToken: s.SessionToken,
	}
}
