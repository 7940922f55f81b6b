package recorder_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/telemetry/opentelemetry"
	"github.com/paywarrant/paywarrant/server/telemetry/prom"
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
	require.NoError(t, none.Register(rail.Gauge{Name: "x"}))
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
	r := recorder.New(prom.Metrics(registry), nil)
	require.NoError(t, r.Register())
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
	captured := ended
	captured.Step, captured.CreatedAt = ledger.StepCapture, ended.CreatedAt.Add(-6*24*time.Hour)
	settle(nil, captured)
	counted, timed := map[string]float64{}, uint64(0)
	all, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range all {
		for _, m := range family.GetMetric() {
			counted[family.GetName()] += m.GetCounter().GetValue()
			if family.GetName() == "paywarrant_charge_decision_seconds" {
				timed += m.GetHistogram().GetSampleCount()
			}
		}
	}
	require.InDelta(t, 2, counted["paywarrant_charges_total"], 0)
	require.InDelta(t, 6_000_000, counted["paywarrant_charged_micros_total"], 0)
	require.EqualValues(t, 1, timed, "a capture of an old authorization is not a slow decision")
}

// TestOneRegistryIsForOne: the second recorder gets an error that names the metric.
func TestOneRegistryIsForOne(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	register := func(with prometheus.Registerer, gauges ...rail.Gauge) error {
		return recorder.New(prom.Metrics(with), nil).Register(gauges...)
	}
	require.NoError(t, register(registry))
	require.ErrorContains(t, register(registry), "paywarrant_http_request_duration_seconds")
	require.Error(t, register(prometheus.WrapRegistererWith(prometheus.Labels{"service": "other"}, registry)), "one has the label and the other has not")
	figure := rail.Gauge{Name: "figure", Help: "A figure.", Value: func() float64 { return 1 }}
	require.ErrorContains(t, register(prometheus.NewRegistry(), figure, figure), "paywarrant_figure")

	both := prometheus.NewRegistry()
	for _, name := range []string{"one", "other"} {
		require.NoError(t, register(prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, both)))
	}
}

// TestMetricsWithoutLabelsStartAtZero: an alert on a counter's increase needs its first
// value, and the gauges have one.
func TestMetricsWithoutLabelsStartAtZero(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	require.NoError(t, recorder.New(prom.Metrics(registry), nil).Register())
	all, err := registry.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range all {
		names = append(names, strings.TrimPrefix(family.GetName(), "paywarrant_"))
	}
	require.Equal(t, []string{
		"charges_pending", "charges_pending_oldest_seconds", "clock_offset_seconds", "http_requests_in_flight",
		"ledger_check_duration_seconds", "ledger_checked_timestamp_seconds", "ledger_faults_total", "ledger_panics_total",
		"reconcile_differences", "reconcile_timestamp_seconds",
		"webhook_delay_seconds", "webhook_endpoints_disabled_total",
	}, names)
}

// TestTracesNeedNoMetrics: each half works without the other.
func TestTracesNeedNoMetrics(t *testing.T) {
	t.Parallel()
	require.Nil(t, recorder.New(nil, nil))
	spans := tracetest.NewInMemoryExporter()
	r := recorder.New(nil, opentelemetry.Traces(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))))
	require.NoError(t, r.Register(rail.Gauge{Name: "x"}))
	req, answered := r.Request(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	ctx, span := r.Span(req.Context(), "child", slog.Int("n", 1))
	require.NotEqual(t, req.Context(), ctx)
	span.End("")
	answered(http.StatusInternalServerError, time.Second)
	r.Requested("accepted")
	require.Len(t, spans.GetSpans(), 2)
	require.Equal(t, spans.GetSpans()[0].Parent.SpanID(), spans.GetSpans()[1].SpanContext.SpanID())
	require.Equal(t, codes.Error, spans.GetSpans()[1].Status.Code)

	never := recorder.New(nil, opentelemetry.Traces(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))))
	_, span = never.Span(t.Context(), "child")
	require.Nil(t, span)
	_, answered = never.Request(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	answered(http.StatusOK, time.Second)
}
