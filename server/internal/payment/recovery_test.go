package payment_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// scripted is a rail that counts how often it is asked, and does not answer while it
// hangs.
type scripted struct {
	rail.Rail

	name  rail.Name
	hangs chan struct{} // nil: it does not
	asked atomic.Int64
}

func (s *scripted) Name() rail.Name { return s.name }

func (s *scripted) Charge(ctx context.Context, _ rail.Charge) (rail.Outcome, error) {
	return s.answer(ctx)
}

func (s *scripted) Refund(ctx context.Context, _ rail.Refund) (rail.Outcome, error) {
	return s.answer(ctx)
}

func (s *scripted) LookupRefund(context.Context, string) (rail.Outcome, error) {
	return rail.Outcome{Status: rail.Unseen}, nil
}

func (s *scripted) answer(ctx context.Context) (rail.Outcome, error) {
	s.asked.Add(1)
	if s.hangs != nil {
		select {
		case <-s.hangs:
		case <-ctx.Done():
			return rail.Outcome{}, ctx.Err()
		}
	}
	return rail.Outcome{Status: rail.Succeeded, SettledAt: time.Now()}, nil
}

// instance is the part of a service that recovers charges.
type instance struct {
	*payment.Service

	ledger *ledger.Ledger
}

func newInstance(t *testing.T, store store.Store, c func() time.Time, rails ...rail.Rail) instance {
	t.Helper()
	l, err := ledger.New(ledger.Config{Store: store, Clock: c})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	router, err := rail.NewRouter(rails)
	require.NoError(t, err)
	s := payment.New(payment.Config{Ledger: l, Rails: router, Clock: c, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(s.Close)
	return instance{s, l}
}

// pending makes a mandate and n pending charges with it on a rail.
func (i instance) pending(t *testing.T, c func() time.Time, n int, on rail.Name) (charges []ledger.Charge) {
	t.Helper()
	now := c().Truncate(time.Second)
	terms := ledger.Terms{MaxPerTx: 1e6, MaxMonthly: 1e9, Payees: []string{ledger.AnyPayee}, Rails: []rail.Name{on}, ExpiresAt: now.Add(time.Hour)}
	s := ledger.Session{Hash: id.New("", now), MerchantID: "mer_1", Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, i.ledger.CreateSession(t.Context(), s))
	begun, err := i.ledger.BeginInstrument(t.Context(), rail.Connection{Reference: s.Hash, Session: s.Hash}, on)
	require.NoError(t, err)
	_, err = i.ledger.ConnectedInstrument(t.Context(), begun.Reference, rail.Instrument{Rail: on})
	require.NoError(t, err)
	m, err := i.ledger.CompleteSession(t.Context(), ledger.Completion{
		SessionHash: s.Hash, MandateID: id.New(id.Mandate, now), Terms: terms, SealedToken: []byte{1}, Instruments: []string{begun.Reference},
	})
	require.NoError(t, err)
	for range n {
		key := id.New(id.Charge, now)
		r, err := i.ledger.Reserve(t.Context(), ledger.Reserve{
			ChargeID: key, MandateID: m.ID, TokenValid: true, Payee: ledger.Merchant{ID: "mer_1", Active: true}, Amount: 1e4, Currency: "usd",
			Rails: []rail.Name{on}, IdempotencyKey: key, Fingerprint: key, Lease: 20 * time.Second,
		})
		require.NoError(t, err)
		charges = append(charges, r.Charge)
	}
	return charges
}

// TestStartingInstanceLeavesLivingLeases: instances that start beside one that is asking
// a rail do not ask it too. When the lease has lapsed, one of them does.
func TestStartingInstanceLeavesLivingLeases(t *testing.T) {
	t.Parallel()
	url, now := pgtest.Schema(t), &clock.Movable{}
	open := func() store.Store {
		store, err := postgres.Open(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	chain := &scripted{name: rail.Chain}
	c := newInstance(t, open(), now.Now, chain).pending(t, now.Now, 1, rail.Chain)[0]
	var all []instance
	for range 3 {
		i := newInstance(t, open(), now.Now, chain)
		require.NoError(t, i.Start(t.Context()))
		all = append(all, i)
	}
	require.Never(t, func() bool { return chain.asked.Load() > 0 }, 2500*time.Millisecond, 50*time.Millisecond, "the lease still runs")
	now.Advance(time.Minute)
	require.Eventually(t, func() bool {
		now, err := all[0].ledger.Charge(t.Context(), c.ID)
		require.NoError(t, err)
		return now.Status == ledger.ChargeSucceeded
	}, time.Minute, 20*time.Millisecond)
	require.EqualValues(t, 1, chain.asked.Load())
}

// TestHungRailDoesNotHoldUpTheOther: more charges than a pool has workers wait for a
// rail that does not answer; a charge of the other rail is finished at once.
func TestHungRailDoesNotHoldUpTheOther(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	now := &clock.Movable{}
	hung, card := &scripted{name: rail.Chain, hangs: make(chan struct{})}, &scripted{name: rail.Card}
	before := newInstance(t, store, now.Now, hung, card)
	before.pending(t, now.Now, 300, rail.Chain)
	onCard := before.pending(t, now.Now, 1, rail.Card)[0]
	before.Close()
	next := newInstance(t, store, now.Now, hung, card)
	require.NoError(t, next.Start(t.Context()))
	require.Eventually(t, func() bool {
		now, err := next.ledger.Charge(t.Context(), onCard.ID)
		require.NoError(t, err)
		return now.Status == ledger.ChargeSucceeded
	}, time.Minute, 20*time.Millisecond, "long before every hung charge was asked for")
	close(hung.hangs)
	require.Eventually(t, func() bool {
		lapsed, err := next.ledger.Lapsed(t.Context(), now.Now().Add(time.Hour), nil, 1000)
		require.NoError(t, err)
		return len(lapsed) == 0
	}, time.Minute, 50*time.Millisecond, "and then the rest")
	require.EqualValues(t, 300, hung.asked.Load())
}

// TestStuckRefundsDoNotDelayThoseOfTheOtherRail: more refunds than recovery lists at a time wait
// for a chain that does not answer; one by card, which is younger, is finished at once.
func TestStuckRefundsDoNotDelayThoseOfTheOtherRail(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	now := &clock.Movable{}
	hung, card := &scripted{name: rail.Chain, hangs: make(chan struct{})}, &scripted{name: rail.Card}
	before := newInstance(t, store, now.Now, hung, card)
	refund := func(c ledger.Charge, on rail.Name, key string) ledger.Refund {
		r, _, err := before.ledger.Refund(t.Context(), ledger.RefundRequest{
			Charge: c, MerchantID: c.MerchantID, Amount: 1, IdempotencyKey: c.ID + key, Fingerprint: "f", Lease: time.Second,
		})
		require.NoError(t, err)
		require.Equal(t, on, r.Rail)
		return r
	}
	settled := func(n int, on rail.Name) (all []ledger.Charge) {
		for _, c := range before.pending(t, now.Now, n, on) {
			c, err := before.ledger.Settle(t.Context(), c, ledger.Settlement{Rail: on, Outcome: rail.Outcome{Status: rail.Succeeded, ProcessorID: "p", TxHash: "0x1"}})
			require.NoError(t, err)
			all = append(all, c)
		}
		return all
	}
	for _, c := range settled(3, rail.Chain) {
		for i := range ledger.MaxRefunds {
			refund(c, rail.Chain, strconv.Itoa(i))
		}
	}
	now.Advance(time.Second)
	byCard := refund(settled(1, rail.Card)[0], rail.Card, "")
	before.Close()
	now.Advance(time.Minute)
	next := newInstance(t, store, now.Now, hung, card)
	require.NoError(t, next.Start(t.Context()))
	require.Eventually(t, func() bool {
		r, err := next.ledger.RefundOf(t.Context(), byCard.ChargeID, byCard.ID)
		require.NoError(t, err)
		return r.Status == ledger.RefundSucceeded
	}, time.Minute, 20*time.Millisecond)
	require.LessOrEqual(t, hung.asked.Load(), int64(16), "long before the others were asked for")
	close(hung.hangs)
}
