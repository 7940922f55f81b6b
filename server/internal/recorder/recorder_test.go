package recorder_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// TestNilRecordsNothing: every method can be called on nil.
func TestNilRecordsNothing(t *testing.T) {
	t.Parallel()
	var none *recorder.Recorder
	none.Requested("accepted")
	none.Happened("payment.succeeded")
	none.Attempted("delivered", time.Second, time.Second)
	none.Disabled()
	none.Checked(time.Now(), time.Second, 1)
	none.Backlog(1, time.Second)
	none.ClockOffset(time.Second)
	require.NoError(t, none.Gauges(rail.Gauge{Name: "x"}))
	ctx, span := none.Span(t.Context(), "x", slog.Int("a", 1))
	span.Set(slog.Bool("b", true))
	span.End("problem")
	require.Equal(t, t.Context(), ctx)
	ctx, ended := none.Attempt(ctx, rail.Card)
	ended(rail.Outcome{}, errors.New("x"))
	require.Equal(t, t.Context(), ctx)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	same, answered := none.Request(r)
	answered(http.StatusOK, time.Second)
	require.Same(t, r, same)
	log := slog.New(slog.DiscardHandler)
	require.Same(t, log, none.Logs(log))
	require.Nil(t, none.Store(nil, nil))
}

// fickle is a store that decides twice, as stores may, and that may lose the result of the
// commit.
type fickle struct {
	ledger.Store

	lost error
}

func (s fickle) Update(_ context.Context, _ ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	for range 2 {
		if _, err := decide(nil); err != nil {
			return err
		}
	}
	return s.lost
}

// TestAChargeIsCountedOnce: only by the transaction that decided it, not by one that found
// it decided, postponed it, or whose result is unknown.
func TestAChargeIsCountedOnce(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	r, err := recorder.New(registry, nil)
	require.NoError(t, err)
	settle := func(lost error, charges ...ledger.Charge) {
		err := r.Store(fickle{lost: lost}, time.Now).Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
			return ledger.Effects{Update: ledger.Rows{Charges: charges}}, nil
		})
		require.ErrorIs(t, err, lost)
	}
	ended := ledger.Charge{Rail: rail.Card, Status: ledger.ChargeSucceeded, Amount: 3_000_000, CreatedAt: time.Now()}
	settle(ledger.ErrUnavailable, ended)
	settle(nil, ended, ledger.Charge{Status: ledger.ChargePending, Amount: 1})
	settle(nil)
	counted := map[string]float64{}
	all, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range all {
		for _, m := range family.GetMetric() {
			counted[family.GetName()] += m.GetCounter().GetValue()
		}
	}
	require.InDelta(t, 1, counted["paywarrant_charges_total"], 0)
	require.InDelta(t, 3_000_000, counted["paywarrant_charged_micros_total"], 0)
}

// TestOneRegistryIsForOne: the second recorder gets an error that names the metric.
func TestOneRegistryIsForOne(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	first, err := recorder.New(registry, nil)
	require.NoError(t, err)
	_, err = recorder.New(registry, nil)
	require.ErrorContains(t, err, "telemetry: Metrics: ")
	_, err = recorder.New(prometheus.WrapRegistererWith(prometheus.Labels{"service": "other"}, registry), nil)
	require.Error(t, err, "one has the label and the other has not")
	figure := rail.Gauge{Name: "figure", Help: "A figure.", Value: func() float64 { return 1 }}
	require.NoError(t, first.Gauges(figure))
	require.ErrorContains(t, first.Gauges(figure), "telemetry: Metrics: ")

	both := prometheus.NewRegistry()
	for _, name := range []string{"one", "other"} {
		_, err := recorder.New(prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, both), nil)
		require.NoError(t, err)
	}
}
