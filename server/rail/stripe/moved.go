package stripe

import (
	"context"
	"fmt"
	"time"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/server/rail"
)

// maxHold is the longest time between the creation of an intent and its capture.
const maxHold = 31 * 24 * time.Hour

// MovementKey implements [rail.Mover].
func (r *Rail) MovementKey(kind rail.MovementKind, reference string) string {
	return string(kind) + "/" + reference
}

// Movements implements [rail.Mover]. It reads the lists of Stripe, a hundred entries a
// request, and leaves out what was not made by this rail.
func (r *Rail) Movements(ctx context.Context, since time.Time, yield func(rail.Movement) error) error {
	if err := r.movedCharges(ctx, since, yield); err != nil {
		return fmt.Errorf("list card movements: %w", err)
	}
	if err := r.movedRefunds(ctx, since, yield); err != nil {
		return fmt.Errorf("list card movements: %w", err)
	}
	return nil
}

func (r *Rail) movedCharges(ctx context.Context, since time.Time, yield func(rail.Movement) error) error {
	params := &api.PaymentIntentListParams{Expand: api.StringSlice([]string{"data.latest_charge.balance_transaction"})}
	params.Limit = api.Int64(100)
	if !since.IsZero() {
		params.CreatedRange = &api.RangeQueryParams{GreaterThanOrEqual: max(since.Add(-maxHold).Unix(), 1)}
	}
	for one, err := range r.client.V1PaymentIntents.List(ctx, params) {
		if err != nil {
			return safe(err)
		}
		reference := one.Metadata[metaReference]
		if reference == "" || one.Status != api.PaymentIntentStatusSucceeded || settledAt(one).Before(since) {
			continue
		}
		amount, err := micros(one.AmountReceived)
		if err == nil {
			err = yield(rail.Movement{Key: r.MovementKey(rail.ChargeMovement, reference), Reference: reference, Amount: amount, ID: one.ID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Rail) movedRefunds(ctx context.Context, since time.Time, yield func(rail.Movement) error) error {
	params := &api.RefundListParams{}
	params.Limit = api.Int64(100)
	if !since.IsZero() {
		params.CreatedRange = &api.RangeQueryParams{GreaterThanOrEqual: max(since.Unix(), 1)}
	}
	for one, err := range r.client.V1Refunds.List(ctx, params) {
		if err != nil {
			return safe(err)
		}
		reference := one.Metadata[metaRefund]
		if reference == "" || one.Status != api.RefundStatusSucceeded {
			continue
		}
		amount, err := micros(one.Amount)
		if err == nil {
			err = yield(rail.Movement{Key: r.MovementKey(rail.RefundMovement, reference), Reference: reference, Amount: amount, ID: one.ID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
