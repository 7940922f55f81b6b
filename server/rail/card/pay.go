package card

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/id"
)

// Pay authorizes and then captures, once for the reference, in two transactions.
// A repeat with the same parameters answers what became of the first, and
// captures what was left authorized. A refusal is an answer ([Declined]), and so
// is a reference given up before ([Voided]). [ErrInvalid], [ErrReferenceReused];
// any other error leaves it unknown.
func (p *Processor) Pay(ctx context.Context, params PaymentParams) (Payment, error) {
	if err := params.validate(); err != nil {
		return Payment{}, err
	}
	if err := p.before(ctx); err != nil {
		return Payment{}, err
	}
	payment, err := p.authorize(ctx, params)
	if err != nil {
		return Payment{}, fmt.Errorf("authorize %s: %w", params.Reference, err)
	}
	if payment.State == RequiresCapture {
		if p.trouble.draw(func(f Faults) int { return f.StopPercent }) {
			return Payment{}, fmt.Errorf("stopped before capture of %s: %w", params.Reference, ErrUnavailable)
		}
		if payment, err = p.captureAndAnswer(ctx, params.Reference); err != nil {
			return Payment{}, err
		}
	}
	if err := p.after(); err != nil {
		return Payment{}, err
	}
	return payment, nil
}

// Capture moves the money of an authorized payment, and answers every other as it
// is. [ErrInvalid], [ErrUnknownPayment]; any other error leaves it unknown.
func (p *Processor) Capture(ctx context.Context, reference string) (Payment, error) {
	return served(ctx, p, byReference(reference), func(ctx context.Context, tx *transaction) (Payment, error) {
		c, err := p.captureIn(ctx, tx, reference)
		return c.payment, err
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
			now := p.clock.Now()
			payment = tombstone(reference, id.New(paymentPrefix, now), now)
			return payment, tx.addPayment(ctx, payment)
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

// authorize is the first transaction of a payment.
func (p *Processor) authorize(ctx context.Context, params PaymentParams) (Payment, error) {
	return write(ctx, p.writer, func(ctx context.Context, tx *transaction) (Payment, error) {
		payment, found, err := tx.findPayment(ctx, params.Reference)
		switch {
		case err != nil:
			return Payment{}, err
		case found && !payment.repeats(params):
			return Payment{}, ErrReferenceReused
		case found:
			return payment, nil
		}
		method, _, err := tx.findMethod(ctx, methodByID, params.Method)
		if err != nil {
			return Payment{}, err
		}
		now := p.clock.Now()
		payment = authorize(params, method, id.New(paymentPrefix, now), now)
		return payment, tx.addPayment(ctx, payment)
	})
}

// capturing is what the second transaction of a payment came to.
type capturing struct {
	payment Payment
	card    sandboxCard
	moved   bool // by this call
}

// captureAndAnswer is the second transaction of a payment, and the way in which
// its card answers: late or not at all, where this call moved the money.
func (p *Processor) captureAndAnswer(ctx context.Context, reference string) (Payment, error) {
	c, err := write(ctx, p.writer, func(ctx context.Context, tx *transaction) (capturing, error) {
		return p.captureIn(ctx, tx, reference)
	})
	if err != nil {
		return Payment{}, fmt.Errorf("capture %s: %w", reference, err)
	}
	if !c.moved {
		return c.payment, nil
	}
	switch c.card.answer {
	case answersLate:
		err = p.wait(ctx, p.slowAnswer)
	case answersNever:
		err = errLost
	case answersAtOnce:
	}
	if err != nil {
		return Payment{}, fmt.Errorf("answer of %s: %w", reference, err)
	}
	return c.payment, nil
}

// captureIn decides and stores a capture. [ErrUnknownPayment].
func (p *Processor) captureIn(ctx context.Context, tx *transaction, reference string) (capturing, error) {
	payment, found, err := tx.findPayment(ctx, reference)
	if err != nil {
		return capturing{}, err
	}
	if !found {
		return capturing{}, ErrUnknownPayment
	}
	payment, moved := payment.capture(p.clock.Now())
	if !moved {
		return capturing{payment: payment}, nil
	}
	method, _, err := tx.findMethod(ctx, methodByID, payment.Method)
	if err != nil {
		return capturing{}, err
	}
	card, _ := cardNamed(method.Card)
	return capturing{payment: payment, card: card, moved: true}, tx.decidePayment(ctx, payment)
}

// byReference asks for a payment by nothing but its reference.
type byReference string

func (r byReference) validate() error { return validReference(string(r)) }
