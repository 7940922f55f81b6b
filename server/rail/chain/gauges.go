package chain

import (
	"math"
	"math/big"
	"sync/atomic"

	"github.com/paywarrant/paywarrant/server/rail"
)

// figures are how the rail stands, as far as it has looked.
type figures struct {
	head, watched atomic.Uint64
	open          atomic.Int64
	overBudget    atomic.Uint64 // settlements refused for a budget
	ether         atomic.Uint64 // bits of a float64; zero: not looked yet
}

func (f *figures) sawBalance(wei *big.Int) {
	ether, _ := new(big.Rat).SetFrac(wei, big.NewInt(1_000_000_000_000_000_000)).Float64()
	f.ether.Store(math.Float64bits(ether))
}

// Gauges implements [rail.Gauger].
func (r *Rail) Gauges() []rail.Gauge {
	f := &r.figures
	return []rail.Gauge{
		{Name: "chain_head_block", Help: "The newest block of the chain that the watcher knows.", Value: func() float64 { return float64(f.head.Load()) }},
		{
			Name: "chain_watched_block", Help: "The newest block in which revocations were looked for.",
			Value: func() float64 { return float64(f.watched.Load()) },
		},
		{
			Name: "chain_transactions_open", Help: "The relayer's transactions that are looked after, at most 512 of them.",
			Value: func() float64 { return float64(f.open.Load()) },
		},
		{
			Name: "chain_settlements_over_budget", Help: "Settlements that this instance refused because a budget of gas was used up.",
			Value: func() float64 { return float64(f.overBudget.Load()) },
		},
		{
			Name: "chain_relayer_ether", Help: "The relayer's balance in ether when it was last looked at: at the start, and each minute while it spends.",
			Value: func() float64 { return math.Float64frombits(f.ether.Load()) },
		},
	}
}
