package relayer

import (
	"math"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	weiPerGwei   = 1e9
	gweiPerEther = 1e9
)

// gauges are the relayer's figures as of the last time they were read.
type gauges struct {
	open      atomic.Int64  // slots
	oldest    atomic.Int64  // age of the oldest open slot
	reverted  atomic.Uint64 // transactions
	spentGwei atomic.Uint64
	ether     atomic.Uint64 // bits of a float64
}

func (g *gauges) setBalance(wei *big.Int) {
	ether, _ := new(big.Rat).SetFrac(wei, big.NewInt(weiPerGwei*gweiPerEther)).Float64()
	g.ether.Store(math.Float64bits(ether))
}

// spend counts what a final transaction cost.
func (g *gauges) spend(receipt *types.Receipt) {
	if receipt.EffectiveGasPrice == nil {
		return
	}
	gwei := weiOf(receipt.GasUsed, receipt.EffectiveGasPrice)
	gwei.Add(gwei, big.NewInt(weiPerGwei-1)).Quo(gwei, big.NewInt(weiPerGwei))
	if gwei.IsUint64() {
		g.spentGwei.Add(gwei.Uint64())
	}
}

// Gauges returns the relayer's figures.
func (r *Relayer) Gauges() []rail.Gauge {
	g := &r.gauges
	return []rail.Gauge{
		{
			Name: "chain_transactions_open", Help: "The relayer's transactions that are not final.",
			Value: func() float64 { return float64(g.open.Load()) },
		},
		{
			Name: "chain_oldest_open_seconds", Help: "How long the oldest transaction of the relayer has waited for its block.",
			Value: func() float64 { return time.Duration(g.oldest.Load()).Seconds() },
		},
		{
			Name: "chain_transactions_reverted", Help: "The relayer's transactions that this instance saw revert.",
			Value: func() float64 { return float64(g.reverted.Load()) },
		},
		{
			Name: "chain_spent_ether", Help: "What final transactions of the relayer cost, as far as this instance saw them.",
			Value: func() float64 { return float64(g.spentGwei.Load()) / gweiPerEther },
		},
		{
			Name: "chain_relayer_ether", Help: "The relayer's balance in ether when it was last read: at the start, and each minute while it spends.",
			Value: func() float64 { return math.Float64frombits(g.ether.Load()) },
		},
	}
}
