package chain

import (
	"math"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
)

// figures are how the rail stands, as far as it has looked.
type figures struct {
	head, watched atomic.Uint64
	open          atomic.Int64
	oldest        atomic.Int64  // how long the oldest open transaction has waited
	overBudget    atomic.Uint64 // settlements refused for a budget
	reverted      atomic.Uint64 // transactions
	undone        atomic.Uint64 // payments
	spentGwei     atomic.Uint64
	ether         atomic.Uint64 // bits of a float64; zero: not looked yet
}

func (f *figures) sawBalance(wei *big.Int) {
	ether, _ := new(big.Rat).SetFrac(wei, big.NewInt(1_000_000_000_000_000_000)).Float64()
	f.ether.Store(math.Float64bits(ether))
}

// spent counts what a final transaction cost.
func (f *figures) spent(receipt *types.Receipt) {
	if receipt.EffectiveGasPrice != nil {
		f.spentGwei.Add(costOf(receipt.GasUsed, receipt.EffectiveGasPrice).gwei)
	}
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
			Name: "chain_oldest_open_seconds", Help: "How long the oldest transaction of the relayer has waited for its block.",
			Value: func() float64 { return time.Duration(f.oldest.Load()).Seconds() },
		},
		{
			Name: "chain_transactions_reverted", Help: "The relayer's transactions that this instance saw revert.",
			Value: func() float64 { return float64(f.reverted.Load()) },
		},
		{
			Name: "chain_spent_ether", Help: "What final transactions of the relayer cost, as far as this instance saw them.",
			Value: func() float64 { return float64(f.spentGwei.Load()) / weiPerGwei },
		},
		{
			Name: "chain_payments_undone", Help: "Payments that succeeded and were taken back by a reorganization, as far as this instance saw them.",
			Value: func() float64 { return float64(f.undone.Load()) },
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
