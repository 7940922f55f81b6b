package stripe

import (
	"context"
	"errors"
	"sync"
	"time"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/internal/sleep"
)

// create returns the intent of a reference, in its current state, and creates it if there is
// none. The reference is the idempotency key, so that one of several callers creates it.
//
// Stripe answers every request with a key as it answered the first one, for a day. A stored
// failure, and a key whose request another caller made and which left no intent, are used up:
// create begins with the n-th key and takes the next one then, once it has looked for the
// intent. It returns the number of the last key. An error for which invalid is true means
// that there is no intent, and that this request will never create one.
func (r *Rail) create(
	ctx context.Context, reference, customer string, n int, params func() *api.PaymentIntentCreateParams,
) (one *api.PaymentIntent, key int, err error) {
	between := func(ctx context.Context) (*api.PaymentIntent, bool, error) {
		one, err := r.find(ctx, reference, customer)
		return one, one != nil, err
	}
	for ; ; n++ {
		one, n, err = keyedFrom(ctx, reference, n, func(ctx context.Context, key string) (*api.PaymentIntent, error) {
			params := params()
			params.SetIdempotencyKey(key)
			return r.client.V1PaymentIntents.Create(ctx, params)
		}, between)
		switch {
		case invalid(err):
			found, e := r.find(ctx, reference, customer)
			if found != nil || e != nil {
				return found, n, e
			}
			return nil, n, err
		case reused(err):
			found, e := r.await(ctx, reference, customer)
			if found != nil || e != nil {
				return found, n, e
			}
			if n >= maxKeys {
				return nil, n, errNotListed
			}
			continue
		case err != nil:
			return nil, n, err
		}
		r.ids.put(reference, one.ID)
		if replayed(one.LastResponse) {
			one, err = r.retrieve(ctx, one.ID)
		}
		return one, n, err
	}
}

var errNotListed = errors.New("the reference is used, and its payment is not listed yet")

// await returns the intent of a reference whose key another request has used. It returns nil
// once there was none for longer than any request lasts: what is stored for the key is a
// failure. If the intent appears after all, no caller confirms it, and pick prefers the one
// that another key has created.
func (r *Rail) await(ctx context.Context, reference, customer string) (*api.PaymentIntent, error) {
	since := r.awaited.since(reference)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		one, err := r.find(ctx, reference, customer)
		if one != nil || err != nil {
			return one, err
		}
		if time.Since(since) > longestRequest*r.timeout {
			return nil, nil //nolint:nilnil // there is none
		}
		if sleep.For(ctx, pause) != nil {
			return nil, errNotListed
		}
	}
}

// longestRequest is how long a request is waited for, in time limits of a call: its caller
// has given up long before.
const longestRequest = 3

// awaited remembers since when intents of references are awaited.
type awaited struct {
	mu    sync.Mutex
	begun map[string]time.Time
}

func (a *awaited) since(reference string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.begun[reference]
	if !ok || time.Since(at) > time.Hour { // by then, the key may have been forgotten and used again
		if at = time.Now(); a.begun == nil || len(a.begun) >= remembered {
			a.begun = map[string]time.Time{}
		}
		a.begun[reference] = at
	}
	return at
}
