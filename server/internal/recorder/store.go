package recorder

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Attempt records an attempt on a rail. The returned function records its end. It is a
// function for [rail.Router.OnAttempt].
func (t *Recorder) Attempt(ctx context.Context, name rail.Name) (context.Context, func(rail.Outcome, error)) {
	if t == nil {
		return ctx, func(rail.Outcome, error) {}
	}
	began := time.Now()
	ctx, span := t.Span(ctx, "rail.charge", slog.String("rail", string(name)))
	return ctx, func(o rail.Outcome, err error) {
		outcome, problem := string(o.Status), ""
		if err != nil {
			outcome, problem = "error", err.Error()
		}
		t.metrics.railAsked(time.Since(began).Seconds(), string(name), outcome)
		span.Set(slog.String("outcome", outcome), slog.String("reason", string(o.Reason)))
		span.End(problem)
	}
}

// Store returns a store that records its transactions and the charges that they decide.
// Each charge is recorded once, by the transaction that decided it.
func (t *Recorder) Store(store ledger.Store, clock func() time.Time) ledger.Store {
	if t == nil {
		return store
	}
	return timed{store, t, clock}
}

type timed struct {
	ledger.Store

	recorder *Recorder
	clock    func() time.Time
}

// Update implements [ledger.Store].
func (s timed) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	began, outcome := time.Now(), "committed"
	var changed []ledger.Charge
	err := s.Store.Update(ctx, keys, func(state *ledger.State) (ledger.Effects, error) {
		e, err := decide(state)
		changed = e.Update.Charges
		return e, err
	})
	switch {
	case err == nil:
		s.decided(changed)
	case errors.Is(err, ledger.ErrConflict):
		outcome = "conflict"
	case errors.Is(err, ledger.ErrUnavailable):
		outcome = "unavailable"
	default:
		outcome = "error"
	}
	s.recorder.metrics.transactions(time.Since(began).Seconds(), outcome)
	return err
}

// decided records the charges that have ended.
func (s timed) decided(charges []ledger.Charge) {
	for _, c := range charges {
		if c.Status != ledger.ChargePending && c.Status != ledger.ChargeAuthorized {
			s.recorder.decided(c, s.clock())
		}
	}
}
