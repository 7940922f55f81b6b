package chain

import (
	"sync/atomic"

	"github.com/paywarrant/paywarrant/server/rail"
)

// gauges are the rail's figures as of the last time they were read.
type gauges struct {
	head, watched atomic.Uint64 // blocks
	overBudget    atomic.Uint64 // settlements refused for a budget
	undone        atomic.Uint64 // payments
}

// Gauges implements [rail.Gauger].
func (r *Rail) Gauges() []rail.Gauge {
	g := &r.gauges
	return append([]rail.Gauge{
		{Name: "chain_head_block", Help: "The newest block of the chain that the watcher knows.", Value: func() float64 { return float64(g.head.Load()) }},
		{
			Name: "chain_watched_block", Help: "The newest block in which revocations were looked for.",
			Value: func() float64 { return float64(g.watched.Load()) },
		},
		{
			Name: "chain_payments_undone", Help: "Payments that succeeded and were taken back by a reorganization, as far as this instance saw them.",
			Value: func() float64 { return float64(g.undone.Load()) },
		},
		{
			Name: "chain_settlements_over_budget", Help: "Settlements that this instance refused because a budget of gas was used up.",
			Value: func() float64 { return float64(g.overBudget.Load()) },
		},
	}, r.relayer.Gauges()...)
}
