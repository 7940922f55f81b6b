package card

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
)

// Pay authorizes and captures, once per reference, in one transaction. With [CaptureManual]
// it only authorizes. A repeated call with the same parameters returns the result of the
// first, and captures a payment that was to be captured and was only authorized. A refusal
// is not an error but has the state [Declined], and a voided reference the state [Voided].
// It returns [ErrInvalid] or [ErrReferenceReused]; after any other error the outcome is
// unknown.
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
	case paid.stopped:
		return Payment{}, fmt.Errorf("stopped after authorization of %s: %w", params.Reference, ErrUnavailable)
	}
	if err := p.answer(ctx, paid.card, paid.worked); err != nil {
		return Payment{}, fmt.Errorf("answer of %s: %w", params.Reference, err)
	}
	if err := p.after(); err != nil {
		return Payment{}, err
	}
	return paid.payment, nil
}

// Capture captures a payment that Pay was to capture and only authorized. It returns any
// other payment unchanged, also one that is held with [CaptureManual]. It returns
// [ErrInvalid] or [ErrUnknownPayment]; after any other error the outcome is unknown.
func (p *Processor) Capture(ctx context.Context, reference string) (Payment, error) {
	return served(ctx, p, byReference(reference), func(ctx context.Context, tx *transaction) (Payment, error) {
		payment, found, err := tx.findPayment(ctx, reference)
		if err == nil && !found {
			err = ErrUnknownPayment
		}
		if err != nil {
			return Payment{}, err
		}
		if payment.State != RequiresCapture || payment.Capture == CaptureManual {
			return payment, nil
		}
		card, err := tx.cardOf(ctx, payment)
		if err != nil {
			return Payment{}, err
		}
		payment = payment.capture(payment.AmountCents, card, p.clock())
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
	return read(ctx, p, reference, p.db.payment)
}

// paying is the result of a payment's transaction.
type paying struct {
	payment Payment
	card    sandboxCard
	worked  bool // this call moved the money, or held it
	stopped bool // a fault stopped it after authorization
}

// payIn authorizes a payment and captures it, unless it is to be captured later or a fault
// stops it in between. If the reference was used before, it captures a payment that was to
// be captured and was only authorized.
func (p *Processor) payIn(ctx context.Context, tx *transaction, params PaymentParams, method Method) (paying, error) {
	now := p.clock()
	card, _ := cardNamed(method.Card)
	paid := p.proceed(authorize(params, method, id.New(paymentPrefix, now), now), card, now)
	added, err := tx.addPayment(ctx, paid.payment)
	if err != nil || added {
		paid.worked = paid.worked || paid.payment.State == RequiresCapture
		return paid, err
	}
	payment, _, err := tx.findPayment(ctx, params.Reference)
	switch {
	case err != nil:
		return paying{}, err
	case !payment.repeats(params):
		return paying{}, ErrReferenceReused
	}
	paid = p.proceed(payment, card, now)
	if paid.payment.State != payment.State {
		err = tx.decidePayment(ctx, paid.payment)
	}
	return paid, err
}

// proceed captures an authorized payment that is to be captured at once, unless a fault
// stops it.
func (p *Processor) proceed(payment Payment, card sandboxCard, now time.Time) paying {
	paid := paying{payment: payment, card: card}
	if payment.State != RequiresCapture {
		return paid
	}
	paid.stopped = p.trouble.draw(func(f Faults) int { return f.StopPercent })
	if payment.Capture != CaptureManual && !paid.stopped {
		paid.payment = payment.capture(payment.AmountCents, card, now)
		paid.worked = paid.payment.State == Captured
	}
	return paid
}

// answer applies the card's behavior after this call moved or held the money: a late
// response, or none.
func (p *Processor) answer(ctx context.Context, card sandboxCard, worked bool) error {
	if !worked {
		return nil
	}
	switch card.answer {
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
