package recorder

import (
	"cmp"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/telemetry"
)

// namespace is the prefix of every metric's name.
const namespace = "paywarrant_"

// metrics are the counters and histograms of a server. Money is in micro-USD, time in seconds.
type metrics struct {
	requests, chargeAsked, charges, charged, fees, decided, railAsked, transactions, events, attempts, delay, disabled, check, faults,
	conflicts, panics, pulls telemetry.Record
}

// Buckets of histograms, in seconds.
var (
	quick = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	slow  = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 86_400}
)

// newMetrics creates the metrics with register, up to the first one that fails.
func newMetrics(register telemetry.Metrics) (m metrics, err error) {
	counter := func(to *telemetry.Record, name, help string, labels ...string) {
		if err == nil {
			*to, err = register.Counter(namespace+name, help, labels...)
			err = named(name, err)
		}
	}
	histogram := func(to *telemetry.Record, buckets []float64, name, help string, labels ...string) {
		if err == nil {
			*to, err = register.Histogram(namespace+name, help, buckets, labels...)
			err = named(name, err)
		}
	}
	histogram(&m.requests, quick, "http_request_duration_seconds", "Duration of requests.", "route", "method", "status")
	counter(&m.chargeAsked, "charge_requests_total",
		"Requests to charge by outcome: accepted, replayed, the rule that refused them, or why they were not processed.", "outcome")
	counter(&m.charges, "charges_total", "Charges decided by this instance.", "rail", "status", "reason")
	counter(&m.charged, "charged_micros_total", "Sum of succeeded charges, in micro-USD.", "rail")
	counter(&m.fees, "fees_micros_total", "Fees of succeeded charges, in micro-USD.", "rail")
	histogram(&m.decided, slow, "charge_decision_seconds", "Time from the request to charge to its decision.", "rail", "status")
	histogram(&m.railAsked, quick, "rail_request_duration_seconds", "Duration of attempts on a rail.", "rail", "outcome")
	histogram(&m.transactions, quick, "ledger_transaction_duration_seconds",
		"Duration of ledger transactions. Each contains the commands that waited together.", "outcome")
	counter(&m.events, "events_total", "Events by type.", "type")
	histogram(&m.attempts, quick, "webhook_attempt_duration_seconds", "Duration of attempts to deliver an event.", "outcome")
	histogram(&m.delay, slow, "webhook_delay_seconds", "Time from an event to its delivery, if the first attempt succeeded.")
	counter(&m.disabled, "webhook_endpoints_disabled_total", "Webhook endpoints disabled because of their responses.")
	histogram(&m.check, quick, "ledger_check_duration_seconds", "Duration of checks of the ledger.")
	counter(&m.faults, "ledger_faults_total", "Broken ledger rules that checks found.")
	counter(&m.panics, "ledger_panics_total", "Commands of the ledger that panicked.")
	counter(&m.pulls, "market_pulls_total", "Reads of other catalogs by outcome: read, unchanged, or what was wrong with the answer.", "upstream", "outcome")
	counter(&m.conflicts, "settlement_conflicts_total", "Outcomes that contradict the one that decided their charge.", "rail")
	return m, err
}

// named adds the metric's name to an error of its registration.
func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s%s: %w", namespace, name, err)
	}
	return nil
}

// Requested records the outcome of a request to charge.
func (t *Recorder) Requested(outcome string) {
	if t != nil {
		t.metrics.chargeAsked(1, outcome)
	}
}

// Panicked records a command of the ledger that panicked.
func (t *Recorder) Panicked() {
	if t != nil {
		t.metrics.panics(1)
	}
}

// Pulled records a read of another catalog.
func (t *Recorder) Pulled(upstream, outcome string) {
	if t != nil {
		t.metrics.pulls(1, upstream, outcome)
	}
}

// Conflicting records an outcome that contradicts the one that decided its charge.
func (t *Recorder) Conflicting(over string) {
	if t != nil {
		t.metrics.conflicts(1, over)
	}
}

// decided records the result of a charge that ended at the time at.
func (t *Recorder) decided(c ledger.Charge, at time.Time) {
	over, status := cmp.Or(string(c.Rail), "none"), string(c.Status)
	t.metrics.charges(1, over, status, string(c.FailureReason))
	if c.Step != ledger.StepCapture { // it may have begun days after the charge was made
		t.metrics.decided(max(at.Sub(c.CreatedAt), 0).Seconds(), over, status)
	}
	if c.Status == ledger.ChargeSucceeded {
		t.metrics.charged(float64(c.Amount), over)
		t.metrics.fees(float64(c.Fee), over)
	}
}

// Happened records a committed event, by its type.
func (t *Recorder) Happened(kind string) {
	if t != nil {
		t.metrics.events(1, kind)
	}
}

// Attempted records an attempt to deliver an event. If the first attempt succeeded, delay is
// the age of the event; otherwise it is negative.
func (t *Recorder) Attempted(outcome string, took, delay time.Duration) {
	if t == nil {
		return
	}
	t.metrics.attempts(took.Seconds(), outcome)
	if delay >= 0 {
		t.metrics.delay(delay.Seconds())
	}
}

// Disabled records that a webhook endpoint was disabled.
func (t *Recorder) Disabled() {
	if t != nil {
		t.metrics.disabled(1)
	}
}

// Checked records a check of the ledger and the number of faults that it found.
func (t *Recorder) Checked(at time.Time, took time.Duration, faults int) {
	if t == nil {
		return
	}
	t.metrics.check(took.Seconds())
	t.metrics.faults(float64(faults))
	if faults == 0 {
		t.gauges.checkedAt.set(float64(at.Unix()))
	}
}
