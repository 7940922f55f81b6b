package stripe_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/stripe"
	"github.com/paywarrant/paywarrant/server/rail/stripe/stripetest"
)

// creates matches requests that create an intent.
func creates(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == "/v1/payment_intents"
}

// detached returns a charge of a card that was detached: Stripe refuses it with 400.
func detached(t *testing.T, s *stripetest.Server) rail.Charge {
	t.Helper()
	r := open(t, s)
	in := connect(t, r, "pm_card_visa")
	require.NoError(t, r.Disconnect(t.Context(), in))
	return charges(in, 1)[0]
}

// TestStoredRefusalDecidesTheCharge: Stripe answers a refusal that it stored for a key for a
// day, so a charge that is refused before it exists is decided under the next key.
func TestStoredRefusalDecidesTheCharge(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]stripetest.Fault{
		"at once": stripetest.None, "after a crash": stripetest.ResetBefore, "after a lost answer": stripetest.ResetAfter,
		"after a stored failure": stripetest.StoredFailure,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stripetest.Start(t)
			s.DelaySearch(time.Hour)
			c := detached(t, s)
			nth(s, 2, 3, second, creates)
			for range 2 {
				got := decide(t, func(ctx context.Context) (rail.Outcome, error) { return impatient(t, s).Charge(ctx, c) })
				require.Equal(t, rail.Refused, got.Status)
				require.Equal(t, rail.CardDeclined, got.Reason)
			}
			got, err := open(t, s).Lookup(t.Context(), c.Reference)
			require.NoError(t, err)
			require.Equal(t, rail.Refused, got.Status)
			require.Zero(t, s.Moved())
		})
	}
}

// TestKeyWithoutPaymentIsGivenUp: a key whose request left a stored failure and no payment
// keeps neither a Void nor a Charge with other parameters undecided for a day.
func TestKeyWithoutPaymentIsGivenUp(t *testing.T) {
	t.Parallel()
	t.Run("void after a refused authorization", func(t *testing.T) {
		t.Parallel()
		s := stripetest.Start(t)
		c := detached(t, s)
		nth(s, 2, 100, stripetest.ResetBefore, creates)
		_, err := impatient(t, s).Authorize(t.Context(), c)
		require.Error(t, err, "it died before the reference was used up")
		s.Inject(func(*http.Request) stripetest.Fault { return stripetest.None })
		r := impatient(t, s)
		got := decide(t, func(ctx context.Context) (rail.Outcome, error) { return r.Void(ctx, c.Reference) })
		require.Equal(t, rail.Refused, got.Status)
	})
	t.Run("charge after a failed void", func(t *testing.T) {
		t.Parallel()
		s := stripetest.Start(t)
		c := charges(connect(t, open(t, s), "pm_card_visa"), 1)[0]
		nth(s, 1, 1, stripetest.StoredFailure, creates)
		short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := impatient(t, s).Void(short, c.Reference)
		require.Error(t, err)
		s.Inject(func(*http.Request) stripetest.Fault { return stripetest.None })
		r := impatient(t, s)
		got := decide(t, func(ctx context.Context) (rail.Outcome, error) { return r.Charge(ctx, c) })
		require.Equal(t, rail.Succeeded, got.Status)
		got = decide(t, func(ctx context.Context) (rail.Outcome, error) { return r.Void(ctx, c.Reference) })
		require.Equal(t, rail.Succeeded, got.Status)
		require.EqualValues(t, 100, s.Moved())
	})
}

// TestStoredRefusalOfACaptureIsAskedAgain: the hold is still there, so the next call captures it.
func TestStoredRefusalOfACaptureIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := stripetest.Start(t)
	c := charges(connect(t, open(t, s), "pm_card_visa"), 1)[0]
	_, err := open(t, s).Authorize(t.Context(), c)
	require.NoError(t, err)
	nth(s, 1, 1, stripetest.StoredRefusal, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/capture") })
	_, err = open(t, s).Capture(t.Context(), c)
	require.Error(t, err, "the money is held, and has not moved")
	got, err := open(t, s).Capture(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, got.Status)
	require.EqualValues(t, 100, s.Moved())
}

// TestRecentPaymentsAreListedFromTheReferenceOn: a busy account has many payments in 75
// minutes, and the payment of a reference cannot be older than the reference.
func TestRecentPaymentsAreListedFromTheReferenceOn(t *testing.T) {
	t.Parallel()
	s := stripetest.Start(t)
	var since []string
	s.Inject(func(r *http.Request) stripetest.Fault {
		if at := r.URL.Query().Get("created[gte]"); at != "" {
			since = append(since, at)
		}
		return stripetest.None
	})
	now := time.Now()
	r, err := stripe.New(stripe.Config{Key: stripetest.LiveKey, BaseURL: s.URL, Clock: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	for _, age := range []time.Duration{time.Minute, 30 * time.Hour} {
		_, err = r.Lookup(t.Context(), rail.Reference(id.New(id.Charge, now.Add(-age)), rail.Card))
		require.NoError(t, err)
	}
	require.Equal(t, []string{seconds(now.Add(-6 * time.Minute)), seconds(now.Add(-75 * time.Minute))}, since)
}

// TestRefundIsRefusedWhenTheMetadataIsFull: an intent has room for 47 refused refunds.
func TestRefundIsRefusedWhenTheMetadataIsFull(t *testing.T) {
	t.Parallel()
	s := stripetest.Start(t)
	r := open(t, s)
	c := charges(connect(t, r, "pm_card_visa"), 1)[0]
	_, err := r.Charge(t.Context(), c)
	require.NoError(t, err)
	for i := range 50 {
		for range 2 {
			got, err := r.Refund(t.Context(), rail.Refund{Reference: "rfd_" + strconv.Itoa(i), Charge: c.Reference, Amount: 2 * dollar})
			require.NoError(t, err)
			require.Equal(t, rail.Refused, got.Status)
		}
	}
	require.EqualValues(t, 100, s.Moved())
}
