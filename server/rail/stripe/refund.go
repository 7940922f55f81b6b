package stripe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Refund moves a whole number of cents of a captured payment back, at most once per
// reference. A repeated call finishes a refund that was interrupted. It is refused as
// [rail.Unavailable] if the amount is no positive number of whole cents, if the charge has
// not moved money, or if Stripe does not make the refund, for example because it exceeds
// what is left. A refund that fails at the payer's bank is refused as
// [rail.CardDeclined] or [rail.ExpiredCard]. It returns [rail.ErrReferenceReused] if charge
// or amount differ from the first call's. After any other error the outcome is unknown.
func (r *Rail) Refund(ctx context.Context, refund rail.Refund) (rail.Outcome, error) {
	cents, whole := refund.Amount.WholeCents()
	if !whole || cents <= 0 {
		return refused(), nil
	}
	return ask(ctx, r, "refund", refund.Reference, func(ctx context.Context) (rail.Outcome, error) {
		of, err := r.find(ctx, refund.Charge, "")
		if err != nil {
			return rail.Outcome{}, err
		}
		if of == nil || of.Status != api.PaymentIntentStatusSucceeded {
			return r.refuseEarly(ctx, refund.Reference)
		}
		return r.refund(ctx, of, refund, cents)
	})
}

// refund returns the outcome of a refund of an intent, and makes it if there is none.
func (r *Rail) refund(ctx context.Context, of *api.PaymentIntent, refund rail.Refund, cents money.Cents) (rail.Outcome, error) {
	made, err := r.refundsOf(ctx, of.ID)
	if err != nil {
		return rail.Outcome{}, err
	}
	for _, one := range made {
		if one.Metadata[metaRefund] == refund.Reference {
			return r.repeated(one, refund.Reference, cents)
		}
	}
	if was, ok := of.Metadata[refusedKey(refund.Reference)]; ok {
		if was != strconv.FormatInt(int64(cents), 10) {
			return rail.Outcome{}, rail.ErrReferenceReused
		}
		return refused(), nil
	}
	if early, err := r.refusedEarly(ctx, refund.Reference); early || err != nil {
		return refused(), err
	}
	one, err := keyed(ctx, "refund:"+refund.Reference, func(ctx context.Context, key string) (*api.Refund, error) {
		params := &api.RefundCreateParams{
			PaymentIntent: api.String(of.ID), Amount: api.Int64(int64(cents)), Metadata: map[string]string{metaRefund: refund.Reference},
		}
		params.SetIdempotencyKey(key)
		return r.client.V1Refunds.Create(ctx, params)
	}, func(ctx context.Context) (*api.Refund, bool, error) { return r.refundOf(ctx, of.ID, refund.Reference) })
	switch {
	case reused(err):
		return rail.Outcome{}, rail.ErrReferenceReused
	case invalid(err), declined(err):
		return r.refuseRefund(ctx, of, refund.Reference, cents)
	case err != nil:
		return rail.Outcome{}, err
	case replayed(one.LastResponse):
		if one, err = r.retrieveRefund(ctx, one.ID); err != nil {
			return rail.Outcome{}, err
		}
	}
	return r.repeated(one, refund.Reference, cents)
}

// repeated returns the outcome of a refund that was found under a reference.
func (r *Rail) repeated(one *api.Refund, reference string, cents money.Cents) (rail.Outcome, error) {
	if one.Amount != int64(cents) {
		return rail.Outcome{}, rail.ErrReferenceReused
	}
	r.ids.put(metaRefund+reference, one.ID)
	return outcomeOfRefund(one)
}

// refuseRefund stores in the intent that a refund was refused, so that it stays refused.
// A refund that another caller made meanwhile counts.
func (r *Rail) refuseRefund(ctx context.Context, of *api.PaymentIntent, reference string, cents money.Cents) (rail.Outcome, error) {
	one, found, err := r.refundOf(ctx, of.ID, reference)
	if err != nil {
		return rail.Outcome{}, err
	}
	if found {
		return r.repeated(one, reference, cents)
	}
	_, err = again(ctx, func(ctx context.Context) (*api.PaymentIntent, error) {
		return r.client.V1PaymentIntents.Update(ctx, of.ID, &api.PaymentIntentUpdateParams{
			Metadata: map[string]string{refusedKey(reference): strconv.FormatInt(int64(cents), 10)},
		})
	})
	if err != nil && !invalid(err) { // invalid: the metadata is full; Stripe's answer to the refund's key stays for a day
		return rail.Outcome{}, err
	}
	return refused(), nil
}

// refusedKey is the key in an intent's metadata under which a refused refund is stored.
func refusedKey(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return "rfd_" + hex.EncodeToString(sum[:16]) // Stripe takes 40 characters
}

// refuseEarly refuses a refund of a charge that moved nothing. The ledger asks for none; a
// canceled intent without card stores the refusal all the same.
func (r *Rail) refuseEarly(ctx context.Context, reference string) (rail.Outcome, error) {
	one, err := keyed(ctx, "refuse:"+reference, func(ctx context.Context, key string) (*api.PaymentIntent, error) {
		params := &api.PaymentIntentCreateParams{
			Amount: api.Int64(placeholderCents), Currency: api.String("usd"), PaymentMethodTypes: api.StringSlice([]string{"card"}),
			Description: api.String("Refuses refund " + reference + "; no payment"), Metadata: map[string]string{metaRefund: reference},
		}
		params.SetIdempotencyKey(key)
		return r.client.V1PaymentIntents.Create(ctx, params)
	}, never)
	if err == nil {
		r.ids.put(metaRefund+reference, one.ID)
		_, err = r.cancel(ctx, one.ID, api.PaymentIntentCancellationReasonDuplicate)
	}
	if err != nil {
		return rail.Outcome{}, err
	}
	return refused(), nil
}

// refusedEarly reports whether refuseEarly refused a refund. The search index may be behind:
// a refund that is repeated within that time, after its charge succeeded, may be made.
func (r *Rail) refusedEarly(ctx context.Context, reference string) (bool, error) {
	if id, ok := r.ids.get(metaRefund + reference); ok {
		return strings.HasPrefix(id, "pi_"), nil
	}
	found, err := r.search(ctx, metaRefund, reference)
	return len(found) > 0, err
}

// refundsOf lists the refunds of an intent.
func (r *Rail) refundsOf(ctx context.Context, id string) ([]*api.Refund, error) {
	return r.refunds(ctx, &api.RefundListParams{PaymentIntent: &id}, nil)
}

// refundOf returns the refund of an intent with a reference, and reports whether there is one.
func (r *Rail) refundOf(ctx context.Context, id, reference string) (*api.Refund, bool, error) {
	made, err := r.refundsOf(ctx, id)
	for _, one := range made {
		if one.Metadata[metaRefund] == reference {
			return one, true, nil
		}
	}
	return nil, false, err
}

// refunds lists refunds, up to one that ends the list; nil: all, at most maxListed.
func (r *Rail) refunds(ctx context.Context, params *api.RefundListParams, last func(*api.Refund) bool) ([]*api.Refund, error) {
	params.Limit = api.Int64(100)
	return again(ctx, func(ctx context.Context) (all []*api.Refund, _ error) {
		for one, err := range r.client.V1Refunds.List(ctx, params) {
			if err != nil {
				return nil, err
			}
			if all = append(all, one); last != nil && last(one) {
				return all, nil
			}
			if len(all) > maxListed {
				return nil, errTooMany
			}
		}
		return all, nil
	})
}

func (r *Rail) retrieveRefund(ctx context.Context, id string) (*api.Refund, error) {
	return again(ctx, func(ctx context.Context) (*api.Refund, error) {
		return r.client.V1Refunds.Retrieve(ctx, id, nil)
	})
}

// LookupRefund returns the outcome of a refund's reference, or [rail.Unseen]. Stripe has no
// search for refunds: unless an event named the refund, it reads the list of the last 75
// minutes. A refund that was refused without being made is Unseen; Refund returns it.
func (r *Rail) LookupRefund(ctx context.Context, reference string) (rail.Outcome, error) {
	return ask(ctx, r, "look up refund", reference, func(ctx context.Context) (rail.Outcome, error) {
		if id, ok := r.ids.get(metaRefund + reference); ok {
			if strings.HasPrefix(id, "pi_") {
				return refused(), nil
			}
			one, err := r.retrieveRefund(ctx, id)
			if err != nil {
				return rail.Outcome{}, err
			}
			return outcomeOfRefund(one)
		}
		since := r.clock().Add(-indexDelay)
		is := func(one *api.Refund) bool { return one.Metadata[metaRefund] == reference }
		list, err := r.refunds(ctx, &api.RefundListParams{CreatedRange: &api.RangeQueryParams{GreaterThanOrEqual: since.Unix()}}, is)
		if err != nil {
			return rail.Outcome{}, err
		}
		if n := len(list); n > 0 && is(list[n-1]) {
			return outcomeOfRefund(list[n-1])
		}
		return rail.Outcome{Status: rail.Unseen}, nil
	})
}
