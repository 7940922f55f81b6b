package telemetry_test

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

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/telemetry"
)

// TestNobodyIsTold: on nil, everything is allowed and nothing happens.
func TestNobodyIsTold(t *testing.T) {
	t.Parallel()
	var none *telemetry.Telemetry
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
	ctx, ended := none.Asking(ctx, rail.Card)
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

// fickle is a store that asks twice for each decision, as one may, and may lose the
// answer of the commit.
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

// TestAChargeIsCountedOnce: by the transaction that decided it; not by one that found
// it decided, that put it off, or of which nobody knows what came.
func TestAChargeIsCountedOnce(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	told, err := telemetry.New(telemetry.Config{Metrics: registry})
	require.NoError(t, err)
	settle := func(lost error, charges ...ledger.Charge) {
		err := told.Store(fickle{lost: lost}, time.Now).Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
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

// TestOneRegistryIsForOne: the second one is told which metric is there already.
func TestOneRegistryIsForOne(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	first, err := telemetry.New(telemetry.Config{Metrics: registry})
	require.NoError(t, err)
	_, err = telemetry.New(telemetry.Config{Metrics: registry})
	require.ErrorContains(t, err, "telemetry: Metrics: ")
	_, err = telemetry.New(telemetry.Config{Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"service": "other"}, registry)})
	require.Error(t, err, "one has the label and the other has not")
	figure := rail.Gauge{Name: "figure", Help: "A figure.", Value: func() float64 { return 1 }}
	require.NoError(t, first.Gauges(figure))
	require.ErrorContains(t, first.Gauges(figure), "telemetry: Metrics: ")

	both := prometheus.NewRegistry()
	for _, name := range []string{"one", "other"} {
		_, err := telemetry.New(telemetry.Config{Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, both)})
		require.NoError(t, err)
	}
}
