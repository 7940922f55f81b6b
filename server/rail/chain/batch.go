package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// batched is how many questions one request to the node holds.
const batched = 100

// batcher is an [RPC] that takes several questions in one request, as an
// ethclient.Client does.
type batcher interface{ Client() *rpc.Client }

// receipts returns the receipt of each slot that is in a block, by its nonce.
func (r *Rail) receipts(ctx context.Context, slots []slot) (map[uint64]*types.Receipt, error) {
	var hashes []common.Hash
	nonces := map[common.Hash]uint64{}
	for _, s := range slots {
		for _, b := range s.Broadcasts {
			hashes = append(hashes, b.Hash)
			nonces[b.Hash] = s.Nonce
		}
	}
	found := map[uint64]*types.Receipt{}
	if _, ok := r.config.RPC.(batcher); ok {
		err := askAll(ctx, r, "eth_getTransactionReceipt", hashes, func(hash common.Hash, receipt *types.Receipt) {
			found[nonces[hash]] = receipt
		})
		return found, err
	}
	for _, hash := range hashes {
		receipt, err := r.config.RPC.TransactionReceipt(ctx, hash)
		if errors.Is(err, ethereum.NotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read receipt of %s: %w", hash, err)
		}
		found[nonces[hash]] = receipt
	}
	return found, nil
}

// known returns the transactions that the node has.
func (r *Rail) known(ctx context.Context, hashes []common.Hash) (map[common.Hash]bool, error) {
	found := map[common.Hash]bool{}
	if _, ok := r.config.RPC.(batcher); ok {
		err := askAll(ctx, r, "eth_getTransactionByHash", hashes, func(hash common.Hash, _ *json.RawMessage) { found[hash] = true })
		return found, err
	}
	for _, hash := range hashes {
		_, _, err := r.config.RPC.TransactionByHash(ctx, hash)
		if err != nil && !errors.Is(err, ethereum.NotFound) {
			return nil, fmt.Errorf("look for transaction %s: %w", hash, err)
		}
		found[hash] = err == nil
	}
	return found, nil
}

// askAll asks the same of many hashes, in few requests. An answer of null is left out.
func askAll[T any](ctx context.Context, r *Rail, method string, hashes []common.Hash, take func(common.Hash, *T)) error {
	client := r.config.RPC.(batcher).Client() // it is one
	for len(hashes) > 0 {
		some := hashes[:min(batched, len(hashes))]
		hashes = hashes[len(some):]
		calls := make([]rpc.BatchElem, len(some))
		answers := make([]*T, len(some))
		for i, hash := range some {
			calls[i] = rpc.BatchElem{Method: method, Args: []any{hash}, Result: &answers[i]}
		}
		if err := client.BatchCallContext(ctx, calls); err != nil {
			return fmt.Errorf("ask %s of %d transactions: %w", method, len(some), err)
		}
		for i, hash := range some {
			if err := calls[i].Error; err != nil {
				return fmt.Errorf("ask %s of %s: %w", method, hash, err)
			}
			if answers[i] != nil {
				take(hash, answers[i])
			}
		}
	}
	return nil
}
