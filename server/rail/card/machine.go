package card

import "time"

// The state machine of a payment: pure functions from what is stored and what is
// asked to what is stored next. The store applies them, one transaction each.

// authorize decides a payment under a reference that nobody has used. A method
// that is missing, refused or another customer's is a refusal like any other: it
// is recorded, so that the reference stays decided.
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

// tombstone is a reference that was voided before it was used.
func tombstone(reference, id string, now time.Time) Payment {
	return Payment{
		PaymentParams: PaymentParams{Reference: reference},
		ID:            id, State: Voided, CreatedAtMillis: now.UnixMilli(),
	}
}

// repeats tells whether params ask again for what p is. The description is left
// out: it moves no money, and a reference must not stay without an answer over a
// text. A tombstone has no parameters to differ from.
func (p Payment) repeats(params PaymentParams) bool {
	if p.State == Voided && p.AmountCents == 0 {
		return true
	}
	params.Description = p.Description
	return p.PaymentParams == params
}

// capture moves the money of an authorized payment, and tells whether it did.
func (p Payment) capture(now time.Time) (Payment, bool) {
	if p.State != RequiresCapture {
		return p, false
	}
	p.State, p.CapturedAtMillis = Captured, now.UnixMilli()
	return p, true
}

// void gives up an authorized payment, and tells whether it did.
func (p Payment) void() (Payment, bool) {
	if p.State != RequiresCapture {
		return p, false
	}
	p.State = Voided
	return p, true
}

// connect decides a payment method under a reference that nobody has used.
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
