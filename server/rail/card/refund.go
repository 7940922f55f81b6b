package card

import (
	"cmp"
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/money"
)

// RefundParams are the parameters of Refund.
type RefundParams struct {
	// Reference identifies the refund, as in [CustomerParams]. References of refunds and
	// of payments are independent of each other. Required.
	Reference string `json:"reference"`
	// Payment is the reference of the payment. Required.
	Payment string `json:"payment"`
	// AmountCents is the amount to give back in US cents, at least 1. Required.
	AmountCents money.Cents `json:"amountCents"`
	// Description appears on the payer's statement. It may be empty.
	Description string `json:"description,omitempty"`
}

func (p RefundParams) validate() error {
	if err := validReference(p.Payment); err != nil {
		return fmt.Errorf("payment: %w", err)
	}
	return cmp.Or(validReference(p.Reference), validAmount(p.AmountCents), validText("description", p.Description, maxDescription))
}

// RefundState is the state of a refund.
type RefundState string

// The states of a refund. Only [RefundPending] can change.
const (
	RefundPending   RefundState = "pending"   // accepted: the money has not moved yet
	RefundSucceeded RefundState = "succeeded" // the money has moved back
	RefundRefused   RefundState = "refused"   // the money will never move back under this reference
)

// Refund is the refund of a reference.
type Refund struct {
	RefundParams

	// ID is the processor's id of the refund (re_…).
	ID string `json:"id"`
	// State is the state of the refund.
	State RefundState `json:"state"`
	// Reason is set if State is refused.
	Reason string `json:"reason,omitempty"`
	// CreatedAtMillis is when the refund was created, in Unix milliseconds.
	CreatedAtMillis int64 `json:"createdAtMillis"`
	// RefundedAtMillis is when the money moved back, in Unix milliseconds.
	RefundedAtMillis int64 `json:"refundedAtMillis,omitempty"`
}

// Refund moves an amount of a captured payment back, once per reference. A repeated call
// with the same parameters returns the result of the first, and finishes a refund that is
// pending. A refund of a payment that is not captured, or of more than is left of what was
// captured, is not an error but has the state [RefundRefused]. It returns [ErrInvalid] or
// [ErrReferenceReused]; after any other error the outcome is unknown.
func (p *Processor) Refund(ctx context.Context, params RefundParams) (Refund, error) {
	if err := params.validate(); err != nil {
		return Refund{}, err
	}
	if err := p.before(ctx); err != nil {
		return Refund{}, err
	}
	done, err := write(ctx, p.writer, func(ctx context.Context, tx *transaction) (refunding, error) {
		return p.refundIn(ctx, tx, params)
	})
	if err == nil && done.refund.State == RefundPending {
		err = fmt.Errorf("stopped before the money moved: %w", ErrUnavailable)
	}
	if err != nil {
		return Refund{}, fmt.Errorf("refund %s: %w", params.Reference, err)
	}
	if err := p.answer(ctx, done.card, done.moved); err != nil {
		return Refund{}, fmt.Errorf("answer of refund %s: %w", params.Reference, err)
	}
	if err := p.after(); err != nil {
		return Refund{}, err
	}
	return done.refund, nil
}

// FindRefund returns the refund of a reference. It returns [ErrInvalid] or
// [ErrUnknownRefund]; after any other error the state is unknown.
func (p *Processor) FindRefund(ctx context.Context, reference string) (Refund, error) {
	return read(ctx, p, reference, p.db.refund)
}

// refunding is the result of a refund's transaction.
type refunding struct {
	refund Refund
	card   sandboxCard
	moved  bool // this call moved the money
}

// refundIn accepts a refund and moves the money, unless a fault stops it in between. If the
// reference was used before, it finishes a pending refund.
func (p *Processor) refundIn(ctx context.Context, tx *transaction, params RefundParams) (refunding, error) {
	payment, _, err := tx.findPayment(ctx, params.Payment)
	if err != nil {
		return refunding{}, err
	}
	card, err := tx.cardOf(ctx, payment)
	if err != nil {
		return refunding{}, err
	}
	refund, found, err := tx.findRefund(ctx, params.Reference)
	now := p.clock()
	stopped := p.trouble.draw(func(f Faults) int { return f.StopPercent })
	switch {
	case err != nil:
		return refunding{}, err
	case found && !refund.repeats(params):
		return refunding{}, ErrReferenceReused
	case found:
		if refund.State != RefundPending || stopped {
			return refunding{refund: refund}, nil
		}
		refund = refund.succeed(now)
		return refunding{refund: refund, card: card, moved: true}, tx.decideRefund(ctx, refund)
	}
	refund = accept(params, payment, card, id.New(refundPrefix, now), now)
	if refund.State == RefundPending {
		if err := tx.reserveRefund(ctx, payment, refund.AmountCents); err != nil {
			return refunding{}, err
		}
		if !stopped {
			refund = refund.succeed(now)
		}
	}
	return refunding{refund: refund, card: card, moved: refund.State == RefundSucceeded}, tx.addRefund(ctx, refund)
}
