package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	api "github.com/stripe/stripe-go/v84"
)

// The metadata of an intent.
const (
	metaReference = "paywarrant_reference" // of the charge
	metaPayee     = "paywarrant_payee"
	metaMandate   = "paywarrant_mandate"
	metaRefused   = "paywarrant_refused" // the reason for which the intent exists only to use a reference up
	metaRefund    = "paywarrant_refund"  // reference of a refund
)

const (
	// indexDelay is how far the search index may be behind.
	indexDelay = 75 * time.Minute
	// maxListed limits what is read of a list to find one reference.
	maxListed = 5_000
	// maxOfCustomer limits the intents of one payer that are read to find a reference.
	maxOfCustomer = 300
)

var errTooMany = errors.New("too many payments to find one among them")

// expanded makes an intent come with what its outcome needs.
func expanded() []*string { return api.StringSlice([]string{"latest_charge.balance_transaction"}) }

// retrieve returns the current state of an intent.
func (r *Rail) retrieve(ctx context.Context, id string) (*api.PaymentIntent, error) {
	return again(ctx, func(ctx context.Context) (*api.PaymentIntent, error) {
		return r.client.V1PaymentIntents.Retrieve(ctx, id, &api.PaymentIntentRetrieveParams{Expand: expanded()})
	})
}

// find returns the intent of a reference, or nil. The payer's customer id makes it faster;
// it may be empty.
func (r *Rail) find(ctx context.Context, reference, customer string) (*api.PaymentIntent, error) {
	if id, ok := r.ids.get(reference); ok {
		return r.retrieve(ctx, id)
	}
	if strings.ContainsAny(reference, `'"\`) {
		return nil, nil //nolint:nilnil // no reference of the service has a quote
	}
	found, err := r.search(ctx, metaReference, reference)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && customer != "" {
		found, err = r.listed(ctx, &api.PaymentIntentListParams{Customer: &customer}, reference, maxOfCustomer)
		if errors.Is(err, errTooMany) {
			err = nil // the list of recent ones finds it
		}
	}
	if len(found) == 0 && err == nil {
		recent := &api.RangeQueryParams{GreaterThanOrEqual: r.notIndexed(reference).Unix()}
		found, err = r.listed(ctx, &api.PaymentIntentListParams{CreatedRange: recent}, reference, maxListed)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	one := pick(found)
	r.ids.put(reference, one.ID)
	return r.retrieve(ctx, one.ID) // the index may be behind
}

// notIndexed returns the earliest time at which an intent can have been created that is of a
// reference and not in the search index yet. The clock of a sandbox can be moved, so that a
// reference made there says nothing of the time at Stripe.
func (r *Rail) notIndexed(reference string) time.Time {
	now := r.clock()
	earliest := now.Add(-indexDelay)
	at, ok := madeAt(reference)
	if at = at.Add(-clockSkew); ok && !r.test && at.After(earliest) && at.Before(now) {
		return at
	}
	return earliest
}

// search returns the intents that the index has with a value in their metadata.
func (r *Rail) search(ctx context.Context, key, value string) ([]*api.PaymentIntent, error) {
	params := &api.PaymentIntentSearchParams{SearchParams: api.SearchParams{Query: fmt.Sprintf("metadata['%s']:'%s'", key, value)}}
	return again(ctx, func(ctx context.Context) (found []*api.PaymentIntent, _ error) {
		for one, err := range r.client.V1PaymentIntents.Search(ctx, params) {
			if err != nil {
				return nil, err
			}
			if one.Metadata[key] == value { // the index compares without case
				found = append(found, one)
			}
		}
		return found, nil
	})
}

// listed returns the intents of a reference in a list, of which it reads at most limit.
func (r *Rail) listed(ctx context.Context, params *api.PaymentIntentListParams, reference string, limit int) ([]*api.PaymentIntent, error) {
	params.Limit = api.Int64(100)
	return again(ctx, func(ctx context.Context) (found []*api.PaymentIntent, _ error) {
		read := 0
		for one, err := range r.client.V1PaymentIntents.List(ctx, params) {
			if err != nil {
				return nil, err
			}
			if one.Metadata[metaReference] == reference {
				found = append(found, one)
			}
			if read++; read >= limit && len(found) == 0 {
				return nil, errTooMany
			}
			if read >= limit {
				break
			}
		}
		return found, nil
	})
}

// pick returns the intent that decides a reference. There is more than one only if Stripe
// failed after it had created an intent. None but the one that was returned is ever
// confirmed, so the one that was confirmed decides; otherwise it is the oldest.
func pick(found []*api.PaymentIntent) *api.PaymentIntent {
	best := found[0]
	for _, one := range found[1:] {
		if touched(one) != touched(best) {
			if touched(one) {
				best = one
			}
			continue
		}
		if one.Created < best.Created || (one.Created == best.Created && one.ID < best.ID) {
			best = one
		}
	}
	return best
}

// touched reports whether an intent was confirmed, or canceled.
func touched(one *api.PaymentIntent) bool {
	return one.Status != api.PaymentIntentStatusRequiresConfirmation && (one.Status != api.PaymentIntentStatusRequiresPaymentMethod || one.LastPaymentError != nil)
}
