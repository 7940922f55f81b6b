package card

import "time"

// The state machine of a payment: pure functions from the stored state and the request to
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

// capture captures an authorized payment, and reports whether it did.
func (p Payment) capture(now time.Time) (Payment, bool) {
	if p.State != RequiresCapture {
		return p, false
	}
	p.State, p.CapturedAtMillis = Captured, now.UnixMilli()
	return p, true
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
