package devchain

import (
	"context"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/rpc"
)

// maxFeeHistory is how many blocks one answer of eth_feeHistory describes.
const maxFeeHistory = 1024

// feeHistory is the result of eth_feeHistory.
type feeHistory struct {
	OldestBlock   *hexutil.Big     `json:"oldestBlock"`
	BaseFeePerGas []*hexutil.Big   `json:"baseFeePerGas"` // one more than blocks: also the next block's
	GasUsedRatio  []float64        `json:"gasUsedRatio"`
	Reward        [][]*hexutil.Big `json:"reward,omitempty"`
}

// FeeHistory implements eth_feeHistory.
func (e *ethMethods) FeeHistory(_ context.Context, count math.HexOrDecimal64, last rpc.BlockNumber, percentiles []float64) (*feeHistory, error) {
	if !slices.IsSorted(percentiles) || slices.ContainsFunc(percentiles, func(p float64) bool { return p < 0 || p > 100 }) {
		return nil, invalidParams("invalid reward percentile")
	}
	end := e.newest()
	if last != rpc.PendingBlockNumber {
		end = e.blockAt(last)
	}
	if end == nil {
		return nil, invalidParams("request beyond head block")
	}
	blocks := min(uint64(count), maxFeeHistory, end.NumberU64()+1)
	first := end.NumberU64() + 1 - blocks
	answer := &feeHistory{OldestBlock: (*hexutil.Big)(new(big.Int).SetUint64(first)), GasUsedRatio: []float64{}}
	for _, b := range e.span(first, end.NumberU64()) {
		answer.BaseFeePerGas = append(answer.BaseFeePerGas, (*hexutil.Big)(b.BaseFee()))
		answer.GasUsedRatio = append(answer.GasUsedRatio, float64(b.GasUsed())/float64(b.GasLimit()))
		if len(percentiles) > 0 {
			answer.Reward = append(answer.Reward, b.rewards(percentiles))
		}
	}
	answer.BaseFeePerGas = append(answer.BaseFeePerGas, (*hexutil.Big)(eip1559.CalcBaseFee(e.config, end.Header())))
	return answer, nil
}

// rewards returns the tips at percentiles of the gas that the block used.
func (b *block) rewards(percentiles []float64) []*hexutil.Big {
	type paid struct {
		tip *big.Int
		gas uint64
	}
	var all []paid
	for _, r := range b.receipts {
		all = append(all, paid{new(big.Int).Sub(r.EffectiveGasPrice, b.BaseFee()), r.GasUsed})
	}
	slices.SortStableFunc(all, func(x, y paid) int { return x.tip.Cmp(y.tip) })
	rewards := make([]*hexutil.Big, len(percentiles))
	next, sum := 0, uint64(0)
	for i, percentile := range percentiles {
		rewards[i] = new(hexutil.Big)
		for ; next < len(all); next++ {
			if float64(sum+all[next].gas) >= percentile/100*float64(b.GasUsed()) {
				break
			}
			sum += all[next].gas
		}
		if len(all) > 0 {
			rewards[i] = (*hexutil.Big)(all[min(next, len(all)-1)].tip)
		}
	}
	return rewards
}
