package card

import (
	"context"
	"fmt"
)

// Authorize holds the amount of a payment: it is [Processor.Pay] with [CaptureManual].
func (p *Processor) Authorize(ctx context.Context, params PaymentParams) (Payment, error) {
	params.Capture = CaptureManual
	return p.Pay(ctx, params)
}

// CaptureHeld captures at most the amount of a payment that was authorized with
// [CaptureManual], once, and releases the rest. A repeated call returns the result of the
// first. It returns payments that are declined or voided unchanged; a refused capture is
// not an error but has the state [Declined]. It returns [ErrInvalid]; [ErrUnknownPayment];
// [ErrAmountTooLarge] if less is held; [ErrReferenceReused] if the payment was captured
// with another amount, or is not to be captured by this call. After any other error the
// outcome is unknown.
func (p *Processor) CaptureHeld(ctx context.Context, params CaptureParams) (Payment, error) {
	if err := params.validate(); err != nil {
		return Payment{}, err
	}
	if err := p.before(ctx); err != nil {
		return Payment{}, err
	}
	captured, err := write(ctx, p.writer, func(ctx context.Context, tx *transaction) (paying, error) {
		return p.captureHeldIn(ctx, tx, params)
	})
	if err == nil && captured.payment.State == RequiresCapture {
		err = fmt.Errorf("stopped before the money moved: %w", ErrUnavailable)
	}
	if err != nil {
		return Payment{}, fmt.Errorf("capture %s: %w", params.Reference, err)
	}
	if err := p.answer(ctx, captured.card, captured.worked); err != nil {
		return Payment{}, fmt.Errorf("answer of capture %s: %w", params.Reference, err)
	}
	if err := p.after(); err != nil {
		return Payment{}, err
	}
	return captured.payment, nil
}

// captureHeldIn captures a held payment unless a fault stops it.
func (p *Processor) captureHeldIn(ctx context.Context, tx *transaction, params CaptureParams) (paying, error) {
	payment, found, err := tx.findPayment(ctx, params.Reference)
	if err == nil && !found {
		err = ErrUnknownPayment
	}
	if err != nil {
		return paying{}, err
	}
	card, err := tx.cardOf(ctx, payment)
	if err != nil {
		return paying{}, err
	}
	captured, changed, err := payment.captureHeld(params.AmountCents, card, p.clock())
	if err != nil || !changed || p.trouble.draw(func(f Faults) int { return f.StopPercent }) {
		return paying{payment: payment, card: card}, err
	}
	return paying{payment: captured, card: card, worked: captured.State == Captured}, tx.decidePayment(ctx, captured)
}
