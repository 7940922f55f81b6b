package card

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/money"
)

func (t *transaction) findRefund(ctx context.Context, reference string) (refund Refund, found bool, err error) {
	found, err = t.find(ctx, refundByReference, reference, func(r row) error { return scanRefund(r, &refund) })
	return refund, found, err
}

func (t *transaction) addRefund(ctx context.Context, r Refund) error {
	_, err := t.exec(ctx, insertRefund, r.Reference, r.Payment, r.AmountCents, r.Description,
		r.ID, r.State, r.Reason, r.CreatedAtMillis, r.RefundedAtMillis)
	return err
}

// reserveRefund adds an amount to what is refunded of a payment that was read in this
// transaction. Another sum than it had then is a broken invariant.
func (t *transaction) reserveRefund(ctx context.Context, p Payment, cents money.Cents) error {
	n, err := t.exec(ctx, updateRefunded, p.RefundedCents+cents, p.Reference, p.RefundedCents)
	if err != nil {
		return err
	}
	if n != 1 {
		return t.fail(fmt.Errorf("payment %s was refunded by somebody else", p.Reference))
	}
	return nil
}

// decideRefund updates a refund that was pending when it was read in this transaction.
func (t *transaction) decideRefund(ctx context.Context, r Refund) error {
	n, err := t.exec(ctx, updateRefund, r.State, r.RefundedAtMillis, r.Reference)
	if err != nil {
		return err
	}
	if n != 1 {
		return t.fail(fmt.Errorf("refund %s left %s twice", r.Reference, RefundPending))
	}
	return nil
}

// refund reads the refund of a reference. It returns [ErrUnknownRefund] if there is none.
func (d *database) refund(ctx context.Context, reference string) (Refund, error) {
	var r Refund
	err := scanRefund(d.Read.QueryRowContext(ctx, refundByReference, reference), &r)
	if errors.Is(err, sql.ErrNoRows) {
		return Refund{}, ErrUnknownRefund
	}
	if err != nil {
		return Refund{}, fmt.Errorf("read refund: %w", err)
	}
	return r, nil
}

func scanRefund(from row, r *Refund) error {
	return from.Scan(&r.Reference, &r.Payment, &r.AmountCents, &r.Description,
		&r.ID, &r.State, &r.Reason, &r.CreatedAtMillis, &r.RefundedAtMillis)
}
