package stripe_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/stripe"
	"github.com/paywarrant/paywarrant/server/rail/stripe/stripetest"
)

// impatient returns a rail that gives up soon.
func impatient(t *testing.T, s *stripetest.Server) *stripe.Rail {
	t.Helper()
	r, err := stripe.New(stripe.Config{Key: stripetest.Key, BaseURL: s.URL, Timeout: 200 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// charges returns charges of one card: half of them carry their age.
func charges(in rail.Instrument, n int) []rail.Charge {
	all := make([]rail.Charge, n)
	for i := range all {
		at := time.Now()
		if i%2 == 1 {
			at = at.Add(-30 * time.Hour)
		}
		all[i] = rail.Charge{
			Reference: rail.Reference(id.New(id.Charge, at), rail.Card), MandateID: "del_1", MerchantID: "mer_1", Instrument: in, Amount: dollar, Description: "a test",
		}
	}
	return all
}

// connect connects a test card.
func connect(t *testing.T, r rail.Rail, name string) rail.Instrument {
	t.Helper()
	in, err := r.Connect(t.Context(), rail.Connection{Reference: "connect." + id.New(id.Customer, time.Now()), Method: name})
	require.NoError(t, err)
	return in
}

// decide repeats a call until it has an outcome.
func decide(t *testing.T, call func(context.Context) (rail.Outcome, error)) rail.Outcome {
	t.Helper()
	for range 100 {
		out, err := call(t.Context())
		if err == nil && out.Status != rail.Pending {
			return out
		}
		require.NotErrorIs(t, err, rail.ErrReferenceReused)
	}
	require.Fail(t, "undecided")
	return rail.Outcome{}
}

// nth injects a fault into the n-th matching request, and into the next count-1. It returns
// the number of faults.
func nth(s *stripetest.Server, n, count int64, f stripetest.Fault, matches func(*http.Request) bool) func() int64 {
	var seen atomic.Int64
	s.Inject(func(r *http.Request) stripetest.Fault {
		if matches(r) {
			if i := seen.Add(1); i >= n && i < n+count {
				return f
			}
		}
		return stripetest.None
	})
	return func() int64 { return max(seen.Load()-n+1, 0) }
}

// TestEachFaultOfEachRequestLosesDoublesAndLeavesNothing: every fault, in every request of
// charge, refund, hold, capture and void, once and several times in a row, while the search
// index is behind and each call is made by another process. Afterwards exactly the right
// money has moved.
func TestEachFaultOfEachRequestLosesDoublesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range stripetest.Faults() {
		for name, matches := range map[string]func(*http.Request) bool{
			"POST": func(r *http.Request) bool { return r.Method == http.MethodPost },
			"GET":  func(r *http.Request) bool { return r.Method == http.MethodGet },
		} {
			t.Run(fault.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := stripetest.Start(t)
				s.DelaySearch(time.Hour)
				in := connect(t, open(t, s), "pm_card_visa")
				var moved int64
				for n := range int64(9) { // requests of spend
					for _, count := range []int64{1, 5}[:1+n%2] {
						hits := nth(s, n+1, count, fault, matches)
						moved += spend(t, s, charges(in, 2)[n/2%2])
						require.Positive(t, hits(), "the fault was never hit")
					}
				}
				require.Equal(t, moved, s.Moved())
				require.Zero(t, s.Held())
			})
		}
	}
}

// spend charges and refunds a part, holds and captures a part, and holds and voids. It
// returns the cents that should have moved.
func spend(t *testing.T, s *stripetest.Server, c rail.Charge) int64 {
	t.Helper()
	call := func(do func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error)) rail.Outcome {
		return decide(t, func(ctx context.Context) (rail.Outcome, error) { return do(impatient(t, s), ctx) })
	}
	paid := call(func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error) { return r.Charge(ctx, c) })
	require.Equal(t, rail.Succeeded, paid.Status, "%+v", paid)
	back := rail.Refund{Reference: strings.Replace(c.Reference, "txn_", "rfd_", 1), Charge: c.Reference, Amount: dollar / 4}
	refunded := call(func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error) { return r.Refund(ctx, back) })
	require.Equal(t, rail.Succeeded, refunded.Status, "%+v", refunded)

	held := c
	held.Reference = "hold-" + c.Reference
	got := call(func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error) { return r.Authorize(ctx, held) })
	require.Equal(t, rail.Held, got.Status, "%+v", got)
	part := held
	part.Amount = dollar / 2
	got = call(func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error) { return r.Capture(ctx, part) })
	require.Equal(t, rail.Succeeded, got.Status, "%+v", got)

	held.Reference = "void-" + c.Reference
	call(func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error) { return r.Authorize(ctx, held) })
	got = call(func(r *stripe.Rail, ctx context.Context) (rail.Outcome, error) { return r.Void(ctx, held.Reference) })
	require.Equal(t, rail.Refused, got.Status, "%+v", got)
	return 100 - 25 + 50
}
