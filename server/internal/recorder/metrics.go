package recorder

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// namespace is the prefix of every metric's name.
const namespace = "paywarrant"

// metrics are the metrics of a server. Money is in micro-USD, time in seconds.
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

// Buckets of histograms, in seconds.
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
		requests: histogram(quick, "http_request_duration_seconds", "Duration of requests.", "route", "method", "status"),
		inFlight: gauge("http_requests_in_flight", "Requests in progress."),
		chargeAsked: counter("charge_requests_total",
			"Requests to charge by outcome: accepted, replayed, the rule that refused them, or why they were not processed.", "outcome"),
		charges:      counter("charges_total", "Charges decided by this instance.", "rail", "status", "reason"),
		charged:      counter("charged_micros_total", "Sum of succeeded charges, in micro-USD.", "rail"),
		fees:         counter("fees_micros_total", "Fees of succeeded charges, in micro-USD.", "rail"),
		decided:      histogram(slow, "charge_decision_seconds", "Time from the request to charge to its decision.", "rail", "status"),
		railAsked:    histogram(quick, "rail_request_duration_seconds", "Duration of attempts on a rail.", "rail", "outcome"),
		transactions: histogram(quick, "ledger_transaction_duration_seconds", "Duration of ledger transactions. Each contains the commands that waited together.", "outcome"),
		events:       counter("events_total", "Events by type.", "type"),
		attempts:     histogram(quick, "webhook_attempt_duration_seconds", "Duration of attempts to deliver an event.", "outcome"),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "webhook_delay_seconds", Help: "Time from an event to its delivery, if the first attempt succeeded.", Buckets: slow,
		}),
		disabled: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "webhook_endpoints_disabled_total", Help: "Webhook endpoints disabled because of their responses.",
		}),
		check: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "ledger_check_duration_seconds", Help: "Duration of checks of the ledger.", Buckets: quick,
		}),
		checkedAt: gauge("ledger_checked_timestamp_seconds", "Time of the last check that found no fault."),
		faults: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "ledger_faults_total", Help: "Broken ledger rules that checks found.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "ledger_panics_total", Help: "Commands of the ledger that panicked.",
		}),
		conflicts:   counter("settlement_conflicts_total", "Outcomes that contradict the one that decided their charge.", "rail"),
		pending:     gauge("charges_pending", "Charges without a decision."),
		oldest:      gauge("charges_pending_oldest_seconds", "Age of the oldest charge without a decision."),
		clockOffset: gauge("clock_offset_seconds", "Offset of this machine's clock from the database's."),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.requests, m.inFlight, m.chargeAsked, m.charges, m.charged, m.fees, m.decided, m.railAsked, m.transactions, m.events,
		m.attempts, m.delay, m.disabled, m.check, m.checkedAt, m.faults, m.conflicts, m.panics, m.pending, m.oldest, m.clockOffset,
	}
}

// Requested records the outcome of a request to charge.
func (t *Recorder) Requested(outcome string) {
	if t != nil {
		t.metrics.chargeAsked.WithLabelValues(outcome).Inc()
	}
}

// Panicked records a command of the ledger that panicked.
func (t *Recorder) Panicked() {
	if t != nil {
		t.metrics.panics.Inc()
	}
}

// Conflicting records an outcome that contradicts the one that decided its charge.
func (t *Recorder) Conflicting(over string) {
	if t != nil {
		t.metrics.conflicts.WithLabelValues(over).Inc()
	}
}

// decided records the result of a charge that ended at the time at.
func (t *Recorder) decided(c ledger.Charge, at time.Time) {
	over, status := cmp.Or(string(c.Rail), "none"), string(c.Status)
	t.metrics.charges.WithLabelValues(over, status, string(c.FailureReason)).Inc()
	t.metrics.decided.WithLabelValues(over, status).Observe(max(at.Sub(c.CreatedAt), 0).Seconds())
	if c.Status == ledger.ChargeSucceeded {
		t.metrics.charged.WithLabelValues(over).Add(float64(c.Amount))
		t.metrics.fees.WithLabelValues(over).Add(float64(c.Fee))
	}
}

// Happened records a committed event, by its type.
func (t *Recorder) Happened(kind string) {
	if t != nil {
		t.metrics.events.WithLabelValues(kind).Inc()
	}
}

// Attempted records an attempt to deliver an event. If the first attempt succeeded, delay is
// the age of the event; otherwise it is negative.
func (t *Recorder) Attempted(outcome string, took, delay time.Duration) {
	if t == nil {
		return
	}
	t.metrics.attempts.WithLabelValues(outcome).Observe(took.Seconds())
	if delay >= 0 {
		t.metrics.delay.Observe(delay.Seconds())
	}
}

// Disabled records that a webhook endpoint was disabled.
func (t *Recorder) Disabled() {
	if t != nil {
		t.metrics.disabled.Inc()
	}
}

// Backlog records the number of pending charges and the age of the oldest.
func (t *Recorder) Backlog(pending int, oldest time.Duration) {
	if t != nil {
		t.metrics.pending.Set(float64(pending))
		t.metrics.oldest.Set(max(oldest, 0).Seconds())
	}
}

// ClockOffset records how far this machine's clock is ahead of the database's.
func (t *Recorder) ClockOffset(ahead time.Duration) {
	if t != nil {
		t.metrics.clockOffset.Set(ahead.Seconds())
	}
}

// Checked records a check of the ledger and the number of faults that it found.
func (t *Recorder) Checked(at time.Time, took time.Duration, faults int) {
	if t == nil {
		return
	}
	t.metrics.check.Observe(took.Seconds())
	t.metrics.faults.Add(float64(faults))
	if faults == 0 {
		t.metrics.checkedAt.Set(float64(at.Unix()))
	}
}
