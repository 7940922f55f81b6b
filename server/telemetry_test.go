package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/server/telemetry/opentelemetry"
	"github.com/paywarrant/paywarrant/server/telemetry/prom"
)

// observed is a service with recorded metrics, spans and logs.
type observed struct {
	caller

	registry *prometheus.Registry
	spans    *tracetest.InMemoryExporter
	log      *witness
}

func listenTo(t *testing.T, o servertest.Options) *observed {
	t.Helper()
	s := &observed{registry: prometheus.NewPedanticRegistry(), spans: tracetest.NewInMemoryExporter(), log: &witness{}}
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	configure := o.Configure
	o.Configure = func(c *server.Config) {
		if configure != nil {
			configure(c)
		}
		c.Metrics, c.Traces = prom.Metrics(s.registry), opentelemetry.Traces(traces)
		c.Logger = slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s.caller = setup(t, &o)
	return s
}

// value adds up a metric's series that have the labels, in the order "name", "value".
// Of a histogram it is how often something was observed.
func (s *observed) value(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	all, err := s.registry.Gather()
	require.NoError(t, err)
	for _, family := range all {
		if family.GetName() != "paywarrant_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			if !matches(m.GetLabel(), labels) {
				continue
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func matches(have []*dto.LabelPair, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		found := false
		for _, l := range have {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// TestChargesAreCounted: each charge counts once, by its outcome, with its amount.
func TestChargesAreCounted(t *testing.T) {
	t.Parallel()
	s := listenTo(t, servertest.Options{})
	good, bad := s.mandate(t, 500, 1000), s.mandate(t, 500, 1000, "card_decline_after_setup")
	s.charge(t, good, 300, "a").ok(t)
	s.charge(t, good, 300, "a").ok(t)
	s.charge(t, good, 200, "b").ok(t)
	s.charge(t, good, 501, "c").refused(t, http.StatusPaymentRequired, "per_tx")
	s.charge(t, good, 400, "a").refused(t, http.StatusUnprocessableEntity, "idempotency_mismatch")
	s.charge(t, bad, 100, "d").ok(t)
	s.do(t, "POST", "/v1/mandates/"+good+"/revoke", "").ok(t)

	for _, c := range []struct {
		times  float64
		name   string
		labels []string
	}{
		{3, "charge_requests_total", []string{"outcome", "accepted"}},
		{1, "charge_requests_total", []string{"outcome", "replayed"}},
		{1, "charge_requests_total", []string{"outcome", "per_tx"}},
		{1, "charge_requests_total", []string{"outcome", "invalid"}},
		{6, "charge_requests_total", nil},
		{2, "charges_total", []string{"rail", "fiatrail", "status", "succeeded"}},
		{1, "charges_total", []string{"rail", "fiatrail", "status", "failed", "reason", "card_declined"}},
		{3, "charges_total", nil},
		{5_000_000, "charged_micros_total", []string{"rail", "fiatrail"}},
		{3, "charge_decision_seconds", nil},
		{2, "rail_request_duration_seconds", []string{"rail", "fiatrail", "outcome", "succeeded"}},
		{1, "rail_request_duration_seconds", []string{"rail", "fiatrail", "outcome", "refused"}},
		{2, "events_total", []string{"type", "payment.succeeded"}},
		{1, "events_total", []string{"type", "delegate.revoked"}},
		{6, "http_request_duration_seconds", []string{"route", "/v1/payments/charge", "method", "POST"}},
		{1, "http_request_duration_seconds", []string{"route", "/v1/payments/charge", "status", "402"}},
		{0, "http_requests_in_flight", nil},
	} {
		require.Eventually(t, func() bool { return s.value(t, c.name, c.labels...) == c.times }, time.Minute, time.Millisecond,
			"%s %s: %v, should be %v", c.name, c.labels, s.value(t, c.name, c.labels...), c.times) // an answer may be read before it is counted
	}
	require.Greater(t, s.value(t, "ledger_transaction_duration_seconds", "outcome", "committed"), 6.0)
}

// TestDeliveriesAreCounted: attempts count by their outcome, with the event's delay.
func TestDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	s := listenTo(t, servertest.Options{})
	r := s.receiver(t)
	r.status.Store(http.StatusInternalServerError)
	s.mandate(t, 500, 1000)
	r.next(t)
	counted := func(outcome string, times float64) {
		t.Helper()
		require.Eventually(t, func() bool { return s.value(t, "webhook_attempt_duration_seconds", "outcome", outcome) == times }, time.Minute, time.Millisecond)
	}
	counted("refused", 1)
	r.status.Store(http.StatusNoContent)
	s.Clock.Advance(6 * time.Second)
	r.next(t)
	counted("delivered", 1)
	require.Zero(t, s.value(t, "webhook_delay_seconds"), "it was not taken at the first attempt")
	s.mandate(t, 500, 1000)
	r.next(t)
	counted("delivered", 2)
	require.InDelta(t, 1, s.value(t, "webhook_delay_seconds"), 0)
	require.InDelta(t, 1, s.value(t, "webhook_endpoints_busy"), 0)
}

// TestTraceOfACharge: its steps are parts of one trace, which its log lines name; the
// caller's own trace is linked to.
func TestTraceOfACharge(t *testing.T) {
	t.Parallel()
	s := listenTo(t, servertest.Options{})
	mandate := s.mandate(t, 500, 1000)
	s.spans.Reset()
	const theirs = "4bf92f3577b34da6a3ce929d0e0e4736"
	s.do(t, "POST", "/v1/payments/charge", chargeBody(mandate, 100, "a"), "Traceparent", "00-"+theirs+"-00f067aa0ba902b7-01").ok(t)

	spans := map[string]tracetest.SpanStub{}
	require.Eventually(t, func() bool {
		for _, span := range s.spans.GetSpans() {
			spans[span.Name] = span
		}
		return len(spans) == 4
	}, time.Minute, time.Millisecond)
	root := spans["POST /v1/payments/charge"]
	require.Equal(t, trace.SpanKindServer, root.SpanKind)
	require.False(t, root.Parent.IsValid())
	require.Len(t, root.Links, 1)
	require.Equal(t, theirs, root.Links[0].SpanContext.TraceID().String())
	for _, name := range []string{"ledger.reserve", "rail.charge", "ledger.settle"} {
		require.Equal(t, root.SpanContext.TraceID(), spans[name].SpanContext.TraceID(), name)
		require.Equal(t, root.SpanContext.SpanID(), spans[name].Parent.SpanID(), name)
	}
	attributes := map[string]string{}
	for _, a := range spans["ledger.settle"].Attributes {
		attributes[string(a.Key)] = a.Value.AsString()
	}
	require.Equal(t, "succeeded", attributes["paywarrant.status"])
	require.Regexp(t, "^txn_", attributes["paywarrant.transactionId"])
	require.Contains(t, s.log.all(), `"traceId":"`+root.SpanContext.TraceID().String()+`"`)
	require.NotContains(t, s.log.all(), theirs)
}

// TestStrangersMakeNoSeries: whatever is asked for, there are no more routes, methods
// and outcomes than we know.
func TestStrangersMakeNoSeries(t *testing.T) {
	t.Parallel()
	s := listenTo(t, servertest.Options{})
	ask := func(n int) {
		for _, method := range []string{"GET", "POST", fmt.Sprintf("M%d", n)} {
			for _, path := range []string{"/%d", "/v1/%d", "/v1/payments/%d/receipt", "/setup/%d", "/v1/mandates/session/%d"} {
				r, err := http.NewRequestWithContext(t.Context(), method, s.URL+fmt.Sprintf(path, n), http.NoBody)
				require.NoError(t, err)
				resp, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
			}
		}
	}
	ask(0)
	before := s.series(t)
	for n := range 20 {
		ask(n + 1)
	}
	require.Equal(t, before, s.series(t))
}

// series are the label values of all metrics, without those that come by themselves.
func (s *observed) series(t *testing.T) map[string]bool {
	t.Helper()
	all, err := s.registry.Gather()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			seen[fmt.Sprint(family.GetName(), m.GetLabel())] = true
		}
	}
	return seen
}

// TestEachMetricIsDocumented: docs/reference/telemetry.md has a line for each, with its labels,
// and none for what there is not.
func TestEachMetricIsDocumented(t *testing.T) {
	t.Parallel()
	s := listenTo(t, servertest.Options{Chain: chain.Start})
	described := make(chan *prometheus.Desc, 1000)
	s.registry.Describe(described)
	close(described)
	there := map[string]bool{}
	parts := regexp.MustCompile(`fqName: "paywarrant_(\w+)".*variableLabels: \{([\w,]*)\}`)
	for d := range described {
		found := parts.FindStringSubmatch(d.String())
		require.NotNil(t, found, d)
		there[found[1]+" "+strings.ReplaceAll(found[2], ",", ", ")] = true
	}
	text, err := os.ReadFile("../docs/reference/telemetry.md")
	require.NoError(t, err)
	written := map[string]bool{}
	for _, line := range regexp.MustCompile("(?m)^\\| `paywarrant_(\\w+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		written[line[1]+" "+strings.TrimSpace(strings.NewReplacer("`", "", "–", "").Replace(line[2]))] = true
	}
	delete(written, "build_info version")
	require.Equal(t, there, written)
}
