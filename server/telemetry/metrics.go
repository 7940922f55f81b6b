package telemetry

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// namespace begins the name of every metric.
const namespace = "paywarrant"

// metrics are those of a server. Money is in micro-USD, time in seconds.
type metrics struct {
	requests     *prometheus.HistogramVec
	inFlight     prometheus.Gauge
	chargeAsked  *prometheus.CounterVec
	charges      *prometheus.CounterVec
	charged      *prometheus.CounterVec
	fees         *prometheus.CounterVec
	decided      *prometheus.HistogramVec
	railAsked    *prometheus.HistogramVec
	transactions *prometheus.HistogramVec
	events       *prometheus.CounterVec
	attempts     *prometheus.HistogramVec
	delay        prometheus.Histogram
	disabled     prometheus.Counter
	check        prometheus.Histogram
	checkedAt    prometheus.Gauge
	faults       prometheus.Counter
	conflicts    *prometheus.CounterVec
	panics       prometheus.Counter
	pending      prometheus.Gauge
	oldest       prometheus.Gauge
	clockOffset  prometheus.Gauge
}

// Bounds of histograms, in seconds.
var (
	quick = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	slow  = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 86_400}
)

func newMetrics() metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histogram := func(bounds []float64, name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	return metrics{
		requests: histogram(quick, "http_request_duration_seconds", "Requests that were answered, by the time they took.", "route", "method", "status"),
		inFlight: gauge("http_requests_in_flight", "Requests that are being answered."),
		chargeAsked: counter("charge_requests_total",
			"What became of requests to charge: accepted, replayed, the rule that refused them, or why they were not looked at.", "outcome"),
		charges:      counter("charges_total", "Charges that were decided here.", "rail", "status", "reason"),
		charged:      counter("charged_micros_total", "What charges have moved, in micro-USD.", "rail"),
		fees:         counter("fees_micros_total", "Fees of those charges, in micro-USD.", "rail"),
		decided:      histogram(slow, "charge_decision_seconds", "From the request to charge to its decision.", "rail", "status"),
		railAsked:    histogram(quick, "rail_request_duration_seconds", "Rails asked to move money, by the time they took.", "rail", "outcome"),
		transactions: histogram(quick, "ledger_transaction_duration_seconds", "Transactions of the ledger; each holds the commands that waited together.", "outcome"),
		events:       counter("events_total", "What happened to merchants, by the type of its event.", "type"),
		attempts:     histogram(quick, "webhook_attempt_duration_seconds", "Attempts to deliver an event, by the time they took.", "outcome"),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "webhook_delay_seconds", Help: "From an event to its delivery, where it was taken at the first attempt.", Buckets: slow,
		}),
		disabled: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "webhook_endpoints_disabled_total", Help: "Webhook endpoints that were disabled for what they answered.",
		}),
		check: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "ledger_check_duration_seconds", Help: "Checks of what changed in the ledger, by the time they took.", Buckets: quick,
		}),
		checkedAt: gauge("ledger_checked_timestamp_seconds", "When the ledger was last found sound."),
		faults: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "ledger_faults_total", Help: "Rules of the ledger that were found broken.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "ledger_panics_total", Help: "Commands of the ledger that panicked.",
		}),
		conflicts:   counter("settlement_conflicts_total", "Outcomes that differ from the one that decided their charge.", "rail"),
		pending:     gauge("charges_pending", "Charges without a decision."),
		oldest:      gauge("charges_pending_oldest_seconds", "Age of the oldest charge without a decision."),
		clockOffset: gauge("clock_offset_seconds", "How far the clock of this machine is ahead of the database's."),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.requests, m.inFlight, m.chargeAsked, m.charges, m.charged, m.fees, m.decided, m.railAsked, m.transactions, m.events,
		m.attempts, m.delay, m.disabled, m.check, m.checkedAt, m.faults, m.conflicts, m.panics, m.pending, m.oldest, m.clockOffset,
	}
}

// Requested tells what became of a request to charge.
func (t *Telemetry) Requested(outcome string) {
	if t != nil {
		t.metrics.chargeAsked.WithLabelValues(outcome).Inc()
	}
}

// Panicked counts a command of the ledger that panicked.
func (t *Telemetry) Panicked() {
	if t != nil {
		t.metrics.panics.Inc()
	}
}

// Conflicting counts an outcome that differs from the one that decided its charge.
func (t *Telemetry) Conflicting(over string) {
	if t != nil {
		t.metrics.conflicts.WithLabelValues(over).Inc()
	}
}

// decided tells how a charge ended, and when.
func (t *Telemetry) decided(c ledger.Charge, at time.Time) {
	over, status := cmp.Or(string(c.Rail), "none"), string(c.Status)
	t.metrics.charges.WithLabelValues(over, status, string(c.FailureReason)).Inc()
	t.metrics.decided.WithLabelValues(over, status).Observe(max(at.Sub(c.CreatedAt), 0).Seconds())
	if c.Status == ledger.ChargeSucceeded {
		t.metrics.charged.WithLabelValues(over).Add(float64(c.Amount))
		t.metrics.fees.WithLabelValues(over).Add(float64(c.Fee))
	}
}

// Happened tells of events that were committed here, by their types.
func (t *Telemetry) Happened(kind string) {
	if t != nil {
		t.metrics.events.WithLabelValues(kind).Inc()
	}
}

// Attempted tells of one attempt to deliver an event. Delay is how old the event was
// when it was taken at the first; negative: it was not.
func (t *Telemetry) Attempted(outcome string, took, delay time.Duration) {
	if t == nil {
		return
	}
	t.metrics.attempts.WithLabelValues(outcome).Observe(took.Seconds())
	if delay >= 0 {
		t.metrics.delay.Observe(delay.Seconds())
	}
}

// Disabled tells that a webhook endpoint was disabled.
func (t *Telemetry) Disabled() {
	if t != nil {
		t.metrics.disabled.Inc()
	}
}

// Backlog records how many charges are pending, and the age of the oldest.
func (t *Telemetry) Backlog(pending int, oldest time.Duration) {
	if t != nil {
		t.metrics.pending.Set(float64(pending))
		t.metrics.oldest.Set(max(oldest, 0).Seconds())
	}
}

// ClockOffset records how far this machine's clock is ahead of the database's.
func (t *Telemetry) ClockOffset(ahead time.Duration) {
	if t != nil {
		t.metrics.clockOffset.Set(ahead.Seconds())
	}
}

// Checked records what a check of the ledger found.
func (t *Telemetry) Checked(at time.Time, took time.Duration, faults int) {
	if t == nil {
		return
	}
	t.metrics.check.Observe(took.Seconds())
	t.metrics.faults.Add(float64(faults))
	if faults == 0 {
		t.metrics.checkedAt.Set(float64(at.Unix()))
	}
}
