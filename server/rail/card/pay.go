package card

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
)

// Pay authorizes and captures, once per reference, in one transaction. A repeated call with
// the same parameters returns the result of the first, and captures a payment that was only
// authorized. A refusal is not an error but has the state [Declined], and a voided reference
// the state [Voided]. It returns [ErrInvalid] or [ErrReferenceReused]; after any other error
// the outcome is unknown.
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

// Capture captures an authorized payment, and returns any other payment unchanged. It
// returns [ErrInvalid] or [ErrUnknownPayment]; after any other error the outcome is unknown.
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

// Void cancels a payment that is not captured, and returns any other payment unchanged: the
// caller must check the state. An unknown reference is voided for good, so that a payment
// that arrives later is refused. It returns [ErrInvalid]; after any other error the outcome
// is unknown.
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

// Payment returns the payment of a reference. It returns [ErrInvalid] or
// [ErrUnknownPayment]; after any other error the state is unknown.
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

// paying is the result of a payment's transaction.
type paying struct {
	payment Payment
	card    sandboxCard
	moved   bool // this call moved the money
}

// payIn authorizes a payment and captures it, unless a fault stops it in between. If the
// reference was used before, it captures a payment that was only authorized.
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

// tryCapture captures an authorized payment unless a fault stops it, and reports whether it
// did.
func (p *Processor) tryCapture(payment Payment, now time.Time) (Payment, bool) {
	if payment.State != RequiresCapture || p.trouble.draw(func(f Faults) int { return f.StopPercent }) {
		return payment, false
	}
	return payment.capture(now)
}

// answer applies the card's behavior after this call moved the money: a late response, or
// none.
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
