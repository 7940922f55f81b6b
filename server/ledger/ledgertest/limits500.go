package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// atItsLimits: of a mandate whose every limit is reached, 500 captures, refunds and charges run
// at the same time on two instances. No reader ever sees a window above its cap, and in the end
// each window is exact to the micro-dollar.
func atItsLimits(t *testing.T, b *bench) {
	const each, amount = 80, ledger.Micros(1_234_567)
	full := 2 * each * amount
	terms := b.terms(2*amount, full)
	terms.Limits = ledger.Limits{MaxDaily: full, MaxTotal: full, MaxMonthlyPerPayee: full, MaxPaymentsPerDay: 2*each + 100}
	w := &limitWorld{bench: b, mandate: b.mandate(t, terms), at: b.instances(t, 2)}
	for range each {
		w.held = append(w.held, b.held(t, w.mandate, amount, rail.Chain))
		w.paid = append(w.paid, b.settle(t, b.reserve(t, w.mandate, amount), succeeded()))
	}
	b.refused(t, b.request(w.mandate, 1), ledger.DailyLimit)

	watched, stop := context.WithCancel(t.Context())
	var reads atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		together(2, func(n int) {
			for watched.Err() == nil {
				w.watch(t, n)
				reads.Add(1)
			}
		})
	}()
	require.Eventually(t, func() bool { return reads.Load() >= 2 }, time.Minute, time.Millisecond)
	together(500, func(i int) { w.act(t, i) })
	stop()
	<-ended
	require.Greater(t, reads.Load(), int64(10))
	require.Positive(t, w.granted.Load(), "no charge fitted into what was given back")
	require.Positive(t, w.refusals.Load(), "the limits were never reached")

	used := int64(full) - w.back.Load() + w.charged.Load()
	stored, err := b.Mandate(t.Context(), w.mandate.ID)
	require.NoError(t, err)
	for _, window := range stored.Windows {
		want := used
		if window.Counts() {
			want = 2*each + w.granted.Load() - w.voided.Load()
		}
		require.Equal(t, want, window.Used, window.Kind)
	}
	b.sound(t)
	// On the next day what is left of the month can be charged, and not a micro-dollar more.
	b.clock.set(b.clock.Now().AddDate(0, 0, 1))
	for left := int64(full) - used; left > 0; {
		part := min(left, int64(2*amount))
		b.settle(t, b.reserve(t, w.mandate, ledger.Micros(part)), succeeded())
		left -= part
	}
	b.refused(t, b.request(w.mandate, 1), ledger.MonthlyLimit)
	b.sound(t)
}

// limitWorld is a mandate at its limits, and what its callers have done.
type limitWorld struct {
	*bench

	mandate    ledger.Mandate
	at         []*ledger.Ledger
	held, paid []ledger.Charge

	back, charged             atomic.Int64 // in micro-dollars
	granted, refusals, voided atomic.Int64
}

// act is the i-th of the calls: each hold is captured or voided, each payment is refunded twice, in
// parts that may be more than there is, and the rest are charges.
func (w *limitWorld) act(t *testing.T, i int) {
	l := w.at[i%len(w.at)]
	switch {
	case i < len(w.held):
		w.end(t, l, w.held[i], i)
	case i < len(w.held)+2*len(w.paid):
		w.refund(t, l, w.paid[i%len(w.paid)], i)
	default:
		w.charge(t, l)
	}
}

// end captures a part of a hold, or voids it.
func (w *limitWorld) end(t *testing.T, l *ledger.Ledger, c ledger.Charge, i int) {
	if i%8 == 0 {
		if _, err := l.Void(t.Context(), c); err != nil {
			t.Error(err)
		}
		w.back.Add(int64(c.Amount))
		w.voided.Add(1)
		return
	}
	part := ledger.Micros(rand.Int64N(int64(c.Amount))) + 1 // a load, not a secret
	got, err := l.Capture(t.Context(), captureOf(c, part))
	if err == nil {
		end := succeeded()
		end.Step, end.Rail = got.Charge.Step, rail.Chain
		_, err = l.Settle(t.Context(), got.Charge, end)
	}
	if err != nil {
		t.Error(err)
	}
	w.back.Add(int64(c.Amount - part))
}

func (w *limitWorld) refund(t *testing.T, l *ledger.Ledger, c ledger.Charge, i int) {
	part := ledger.Micros(rand.Int64N(int64(c.Amount))) + 1 // likewise
	r, _, err := l.Refund(t.Context(), w.refundOf(c, part, fmt.Sprint("refund ", i)))
	if errors.Is(err, ledger.ErrAboveCharge) {
		return // the other refund was first
	}
	if err == nil {
		_, err = l.SettleRefund(t.Context(), r, gaveBack)
	}
	if err != nil {
		t.Error(err)
	}
	w.back.Add(int64(part))
}

func (w *limitWorld) charge(t *testing.T, l *ledger.Ledger) {
	for range 8 { // until something was given back
		amount := ledger.Micros(rand.Int64N(300_000)) + 1 // likewise
		r, err := l.Reserve(t.Context(), w.request(w.mandate, amount))
		var refusal *ledger.Refusal
		switch {
		case errors.As(err, &refusal):
			w.refusals.Add(1)
			continue
		case err == nil:
			_, err = l.Settle(t.Context(), r.Charge, succeeded())
		}
		if err != nil {
			t.Error(err)
		}
		w.granted.Add(1)
		w.charged.Add(int64(amount))
		return
	}
}

// watch reads the windows, which must not be above their caps.
func (w *limitWorld) watch(t *testing.T, n int) {
	m, err := w.at[n%len(w.at)].Mandate(t.Context(), w.mandate.ID)
	if err != nil {
		t.Error(err)
		return
	}
	for _, window := range m.Windows {
		if window.Used > window.Cap || window.Used < 0 {
			t.Errorf("%s: %d of %d are used", window.Kind, window.Used, window.Cap)
		}
	}
}
