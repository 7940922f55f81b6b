package card

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
)

// Pay authorizes and captures, once for the reference, in one transaction. A
// repeat with the same parameters answers what became of the first, and captures
// what was left authorized. A refusal is an answer ([Declined]), and so is a
// reference given up before ([Voided]). [ErrInvalid], [ErrReferenceReused]; any
// other error leaves it unknown.
func (p *Processor) Pay(ctx context.Context, params PaymentParams) (Payment, error) {
	if err := params.validate(); err != nil {
		return Payment{}, err
	}
	if err := p.before(ctx); err != nil {
		return Payment{}, err
	}
	method, err := p.method(ctx, params.Method)
	if err != nil {
		return Payment{}, fmt.Errorf("pay %s: %w", params.Reference, err)
	}
	paid, err := write(ctx, p.writer, func(ctx context.Context, tx *transaction) (paying, error) {
		return p.payIn(ctx, tx, params, method)
	})
	switch {
	case err != nil:
		return Payment{}, fmt.Errorf("pay %s: %w", params.Reference, err)
	case paid.payment.State == RequiresCapture:
		return Payment{}, fmt.Errorf("stopped before capture of %s: %w", params.Reference, ErrUnavailable)
	}
	if err := p.answer(ctx, paid); err != nil {
		return Payment{}, fmt.Errorf("answer of %s: %w", params.Reference, err)
	}
	if err := p.after(); err != nil {
		return Payment{}, err
	}
	return paid.payment, nil
}

// Capture moves the money of an authorized payment, and answers every other as it
// is. [ErrInvalid], [ErrUnknownPayment]; any other error leaves it unknown.
func (p *Processor) Capture(ctx context.Context, reference string) (Payment, error) {
	return served(ctx, p, byReference(reference), func(ctx context.Context, tx *transaction) (Payment, error) {
		payment, found, err := tx.findPayment(ctx, reference)
		if err == nil && !found {
			err = ErrUnknownPayment
		}
		if err != nil {
			return Payment{}, err
		}
		payment, moved := payment.capture(p.clock())
		if !moved {
			return payment, nil
		}
		return payment, tx.decidePayment(ctx, payment)
	})
}

// Void gives up a payment that is not captured, and answers every other as it is:
// the caller must look at its state. A reference that was never seen is voided
// for good, so that a payment still on its way finds it taken. [ErrInvalid]; any
// other error leaves it unknown.
func (p *Processor) Void(ctx context.Context, reference string) (Payment, error) {
	return served(ctx, p, byReference(reference), func(ctx context.Context, tx *transaction) (Payment, error) {
		payment, found, err := tx.findPayment(ctx, reference)
		if err != nil {
			return Payment{}, err
		}
		if !found {
			now := p.clock()
			payment = tombstone(reference, id.New(paymentPrefix, now), now)
			_, err = tx.addPayment(ctx, payment)
			return payment, err
		}
		payment, changed := payment.void()
		if !changed {
			return payment, nil
		}
		return payment, tx.decidePayment(ctx, payment)
	})
}

// Payment tells what became of a reference. [ErrInvalid], [ErrUnknownPayment];
// any other error leaves it unknown.
func (p *Processor) Payment(ctx context.Context, reference string) (Payment, error) {
	if err := validReference(reference); err != nil {
		return Payment{}, err
	}
	if err := p.before(ctx); err != nil {
		return Payment{}, err
	}
	payment, err := p.db.payment(ctx, reference)
	if err != nil {
		return Payment{}, fmt.Errorf("payment %s: %w", reference, err)
	}
	if err := p.after(); err != nil {
		return Payment{}, err
	}
	return payment, nil
}

// paying is what the transaction of a payment came to.
type paying struct {
	payment Payment
	card    sandboxCard
	moved   bool // the money, by this call
}

// payIn authorizes a payment and captures it, unless it is drawn to stop between the
// two. Of a reference that was used before it captures what was left authorized.
func (p *Processor) payIn(ctx context.Context, tx *transaction, params PaymentParams, method Method) (paying, error) {
	now := p.clock()
	card, _ := cardNamed(method.Card)
	payment, moved := p.tryCapture(authorize(params, method, id.New(paymentPrefix, now), now), now)
	added, err := tx.addPayment(ctx, payment)
	if err != nil || added {
		return paying{payment: payment, card: card, moved: moved}, err
	}
	payment, _, err = tx.findPayment(ctx, params.Reference)
	switch {
	case err != nil:
		return paying{}, err
	case !payment.repeats(params):
		return paying{}, ErrReferenceReused
	}
	if payment, moved = p.tryCapture(payment, now); moved {
		err = tx.decidePayment(ctx, payment)
	}
	return paying{payment: payment, card: card, moved: moved}, err
}

// tryCapture moves the money of an authorized payment, unless it is drawn to fail, and
// reports whether it did.
func (p *Processor) tryCapture(payment Payment, now time.Time) (Payment, bool) {
	if payment.State != RequiresCapture || p.trouble.draw(func(f Faults) int { return f.StopPercent }) {
		return payment, false
	}
	return payment.capture(now)
}

// answer is the way in which the card answers a payment: late or not at all, where
// this call moved the money.
func (p *Processor) answer(ctx context.Context, paid paying) error {
	if !paid.moved {
		return nil
	}
	switch paid.card.answer {
	case answersLate:
		return p.wait(ctx, p.slowAnswer)
	case answersNever:
		return errLost
	case answersAtOnce:
	}
	return nil
}

// byReference asks for a payment by nothing but its reference.
type byReference string

func (r byReference) validate() error { return validReference(string(r)) }
