package recorder

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// gauges are the metrics that have a current value.
type gauges struct {
	inFlight    atomic.Int64
	checkedAt   gauge
	pending     gauge
	oldest      gauge
	clockOffset gauge
	differences gauge
	reconciled  gauge
}

// gauge is a float64 that is safe for concurrent use.
type gauge struct{ bits atomic.Uint64 }

func (g *gauge) set(v float64) { g.bits.Store(math.Float64bits(v)) }

func (g *gauge) value() float64 { return math.Float64frombits(g.bits.Load()) }

func (g *gauges) all() []rail.Gauge {
	return []rail.Gauge{
		{Name: "http_requests_in_flight", Help: "Requests in progress.", Value: func() float64 { return float64(g.inFlight.Load()) }},
		{Name: "ledger_checked_timestamp_seconds", Help: "Time of the last check that found no fault.", Value: g.checkedAt.value},
		{Name: "charges_pending", Help: "Charges without a decision.", Value: g.pending.value},
		{Name: "charges_pending_oldest_seconds", Help: "Age of the oldest charge without a decision.", Value: g.oldest.value},
		{Name: "clock_offset_seconds", Help: "Offset of this machine's clock from the database's.", Value: g.clockOffset.value},
		{Name: "reconcile_differences", Help: "Differences between the ledger and the rails that the last reconciliation of this instance found.", Value: g.differences.value},
		{Name: "reconcile_timestamp_seconds", Help: "Time of the last reconciliation by this instance.", Value: g.reconciled.value},
	}
}

// Backlog records the number of pending charges and the age of the oldest.
func (t *Recorder) Backlog(pending int, oldest time.Duration) {
	if t != nil {
		t.gauges.pending.set(float64(pending))
		t.gauges.oldest.set(max(oldest, 0).Seconds())
	}
}

// ClockOffset records how far this machine's clock is ahead of the database's.
func (t *Recorder) ClockOffset(ahead time.Duration) {
	if t != nil {
		t.gauges.clockOffset.set(ahead.Seconds())
	}
}

// Reconciled records the time of a reconciliation and the number of differences.
func (t *Recorder) Reconciled(at time.Time, differences int64) {
	if t != nil {
		t.gauges.differences.set(float64(differences))
		t.gauges.reconciled.set(float64(at.Unix()))
	}
}
