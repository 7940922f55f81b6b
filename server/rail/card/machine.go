package card

import (
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
)

// The state machines of a payment and a refund: pure functions from the stored state and the request to
// the next state. The store applies each in one transaction.

// authorize decides a payment with an unused reference. A missing or refused method, or one
// of another customer, is a refusal like any other: it is recorded, so that the reference
// stays decided.
func authorize(params PaymentParams, method Method, id string, now time.Time) Payment {
	p := Payment{PaymentParams: params, ID: id, State: RequiresCapture, CreatedAtMillis: now.UnixMilli()}
	card, known := cardNamed(method.Card)
	switch {
	case method.ID == "" || method.Customer != params.Customer || method.State != MethodConnected || !known:
		p.State, p.Reason = Declined, reasonUnknownMethod
	case card.charge != "":
		p.State, p.Reason = Declined, card.charge
	}
	return p
}

// tombstone returns the payment of a reference that was voided before it was used.
func tombstone(reference, id string, now time.Time) Payment {
	return Payment{
		PaymentParams: PaymentParams{Reference: reference},
		ID:            id, State: Voided, CreatedAtMillis: now.UnixMilli(),
	}
}

// repeats reports whether params are those of p. The description may differ: it moves no
// money, and must not leave a reference without an answer. A tombstone has no parameters
// that could differ.
func (p Payment) repeats(params PaymentParams) bool {
	if p.State == Voided && p.AmountCents == 0 {
		return true
	}
	params.Description = p.Description
	return p.PaymentParams == params
}

// capture captures an amount of an authorized payment, or declines it.
func (p Payment) capture(cents money.Cents, card sandboxCard, now time.Time) Payment {
	if card.capture != "" {
		p.State, p.Reason = Declined, card.capture
		return p
	}
	p.State, p.CapturedCents, p.CapturedAtMillis = Captured, cents, now.UnixMilli()
	return p
}

// captureHeld captures an amount of a held payment, and reports whether the payment changed.
func (p Payment) captureHeld(cents money.Cents, card sandboxCard, now time.Time) (captured Payment, changed bool, err error) {
	switch {
	case p.State == Declined || p.State == Voided:
		return p, false, nil
	case p.Capture != CaptureManual || (p.State == Captured && p.CapturedCents != cents):
		return Payment{}, false, ErrReferenceReused
	case p.State == Captured:
		return p, false, nil
	case cents > p.AmountCents:
		return Payment{}, false, fmt.Errorf("amountCents %d, %d are held: %w", cents, p.AmountCents, ErrAmountTooLarge)
	}
	return p.capture(cents, card, now), true, nil
}

// accept decides a refund with an unused reference. A refusal is recorded, so that the
// reference stays decided. The payment is the zero Payment if there is none.
func accept(params RefundParams, payment Payment, card sandboxCard, id string, now time.Time) Refund {
	r := Refund{RefundParams: params, ID: id, State: RefundPending, CreatedAtMillis: now.UnixMilli()}
	switch {
	case payment.State != Captured:
		r.State, r.Reason = RefundRefused, reasonNotCaptured
	case params.AmountCents > payment.CapturedCents-payment.RefundedCents:
		r.State, r.Reason = RefundRefused, reasonRefunded
	case card.refund != "":
		r.State, r.Reason = RefundRefused, card.refund
	}
	return r
}

// repeats reports whether params are those of r. The description may differ.
func (r Refund) repeats(params RefundParams) bool {
	params.Description = r.Description
	return r.RefundParams == params
}

// succeed moves the money of a pending refund.
func (r Refund) succeed(now time.Time) Refund {
	r.State, r.RefundedAtMillis = RefundSucceeded, now.UnixMilli()
	return r
}

// void cancels an authorized payment, and reports whether it did.
func (p Payment) void() (Payment, bool) {
	if p.State != RequiresCapture {
		return p, false
	}
	p.State = Voided
	return p, true
}

// connect decides a payment method with an unused reference.
func connect(params MethodParams, card sandboxCard, id string, now time.Time) Method {
	m := Method{
		MethodParams: params, ID: id, Brand: card.Brand, LastFour: card.LastFour,
		State: MethodConnected, CreatedAtMillis: now.UnixMilli(),
	}
	if card.connect != "" {
		m.State, m.Reason = MethodRefused, card.connect
	}
	return m
}
