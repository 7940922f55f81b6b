package devchain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/trie"
)

// draft is a block that is being made.
type draft struct {
	header   *types.Header
	state    *state.StateDB
	evm      *vm.EVM
	gas      *core.GasPool
	txs      []*types.Transaction
	receipts types.Receipts
	// cheap reports that a transaction was left out because it offers less than the
	// base fee.
	cheap bool
}

// draftOn starts a block on a parent, at a time in seconds.
func (h *history) draftOn(ctx context.Context, parent *types.Header, at uint64) (*draft, error) {
	now, err := h.stateOf(parent)
	if err != nil {
		return nil, err
	}
	blobGas := eip4844.CalcExcessBlobGas(h.config, parent, at)
	header := &types.Header{
		ParentHash: parent.Hash(), Number: new(big.Int).Add(parent.Number, common.Big1), Time: at, Difficulty: new(big.Int),
		GasLimit: core.CalcGasLimit(parent.GasLimit, blockGas), BaseFee: eip1559.CalcBaseFee(h.config, parent),
		BlobGasUsed: new(uint64), ExcessBlobGas: &blobGas, ParentBeaconRoot: &common.Hash{},
	}
	_, _ = rand.Read(header.MixDigest[:]) // never fails; a block made again has another hash
	d := &draft{
		header: header, state: now, gas: core.NewGasPool(header.GasLimit),
		evm: vm.NewEVM(core.NewEVMBlockContext(header, ancestry{history: h}, nil), now, h.config, vm.Config{}),
	}
	core.PreExecution(ctx, header.ParentBeaconRoot, parent, h.config, d.evm, header.Number, header.Time)
	return d, nil
}

// fill adds the transactions that wait: those that pay the most tip first, then those
// that arrived first, each account's by nonce.
func (d *draft) fill(ctx context.Context, queues [][]waitingTx) {
	for len(queues) > 0 {
		best, most := 0, (*big.Int)(nil)
		for i, queue := range queues {
			if tip := queue[0].EffectiveGasTipValue(d.header.BaseFee); most == nil || tip.Cmp(most) > 0 {
				best, most = i, tip
			}
		}
		err := d.add(ctx, queues[best][0].Transaction)
		d.cheap = d.cheap || errors.Is(err, core.ErrFeeCapTooLow)
		if queues[best] = queues[best][1:]; err != nil || len(queues[best]) == 0 {
			queues = append(queues[:best], queues[best+1:]...)
		}
	}
}

// lowersFee reports whether the base fee falls after the block if no transaction is in
// it. The fee does not fall below 7 wei.
func (d *draft) lowersFee() bool {
	return eip1559.CalcBaseFee(d.evm.ChainConfig(), d.header).Cmp(d.header.BaseFee) < 0
}

// add executes a transaction. Nothing changes if it cannot be in this block.
func (d *draft) add(ctx context.Context, tx *types.Transaction) error {
	before, gas := d.state.Snapshot(), d.gas.Snapshot()
	d.state.SetTxContext(tx.Hash(), len(d.txs), uint32(len(d.txs)+1))
	receipt, _, err := core.ApplyTransaction(ctx, d.evm, d.gas, d.state, d.header, tx)
	if err != nil {
		d.state.RevertToSnapshot(before)
		d.gas.Set(gas)
		return err
	}
	d.txs, d.receipts = append(d.txs, tx), append(d.receipts, receipt)
	return nil
}

// seal ends the block and commits its state.
func (d *draft) seal(ctx context.Context) (*block, error) {
	config, number := d.evm.ChainConfig(), d.header.Number
	var logs []*types.Log
	for _, r := range d.receipts {
		logs = append(logs, r.Logs...)
	}
	requests, _, err := core.PostExecution(ctx, config, number, d.header.Time, logs, nil, d.evm, uint32(len(d.txs)+1))
	if err != nil {
		return nil, fmt.Errorf("end block: %w", err)
	}
	hash := types.CalcRequestsHash(requests)
	d.header.RequestsHash, d.header.GasUsed = &hash, d.gas.Used()
	if d.header.Root, err = d.state.Commit(d.evm.GetRules(), number.Uint64()); err != nil {
		return nil, fmt.Errorf("commit state: %w", err)
	}
	body := &types.Body{Transactions: d.txs, Withdrawals: []*types.Withdrawal{}}
	sealed := types.NewBlock(d.header, body, d.receipts, trie.NewStackTrie(nil))
	err = d.receipts.DeriveFields(config, sealed.Hash(), number.Uint64(), d.header.Time, d.header.BaseFee, new(big.Int), d.txs)
	if err != nil {
		return nil, fmt.Errorf("complete receipts: %w", err)
	}
	return &block{Block: sealed, receipts: d.receipts}, nil
}

// discard frees what the draft holds. It must not be used after it.
func (d *draft) discard() { d.evm.Release() }
