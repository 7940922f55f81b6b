package eth

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

// batched is the number of calls in one request to the node.
const batched = 100

// batcher is a [Node] that takes several calls in one request, such as an
// ethclient.Client.
type batcher interface{ Client() *rpc.Client }

// Receipts returns the receipts of those transactions that are in a block.
func (r *Reader) Receipts(ctx context.Context, hashes []common.Hash) (map[common.Hash]*types.Receipt, error) {
	found := map[common.Hash]*types.Receipt{}
	if b, ok := r.Node.(batcher); ok {
		err := callAll(ctx, b, "eth_getTransactionReceipt", hashes, func(hash common.Hash, receipt *types.Receipt) { found[hash] = receipt })
		return found, err
	}
	for _, hash := range hashes {
		receipt, err := r.Receipt(ctx, hash)
		if err != nil {
			return nil, err
		}
		if receipt != nil {
			found[hash] = receipt
		}
	}
	return found, nil
}

// Receipt returns the receipt of a transaction, nil if it is in no block.
func (r *Reader) Receipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	receipt, err := r.Node.TransactionReceipt(ctx, hash)
	if errors.Is(err, ethereum.NotFound) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, fmt.Errorf("read receipt of %s: %w", hash, err)
	}
	return receipt, nil
}

// Known reports which of the transactions the node has, in a block or waiting.
func (r *Reader) Known(ctx context.Context, hashes []common.Hash) (map[common.Hash]bool, error) {
	found := map[common.Hash]bool{}
	if b, ok := r.Node.(batcher); ok {
		err := callAll(ctx, b, "eth_getTransactionByHash", hashes, func(hash common.Hash, _ *json.RawMessage) { found[hash] = true })
		return found, err
	}
	for _, hash := range hashes {
		known, err := r.Knows(ctx, hash)
		if err != nil {
			return nil, err
		}
		found[hash] = known
	}
	return found, nil
}

// Knows reports whether the node has a transaction, in a block or waiting.
func (r *Reader) Knows(ctx context.Context, hash common.Hash) (bool, error) {
	_, _, err := r.Node.TransactionByHash(ctx, hash)
	if err != nil && !errors.Is(err, ethereum.NotFound) {
		return false, fmt.Errorf("look for transaction %s: %w", hash, err)
	}
	return err == nil, nil
}

// callAll calls a method for each hash, several in one request. It passes each answer
// that is not null to take.
func callAll[T any](ctx context.Context, b batcher, method string, hashes []common.Hash, take func(common.Hash, *T)) error {
	for len(hashes) > 0 {
		some := hashes[:min(batched, len(hashes))]
		hashes = hashes[len(some):]
		calls := make([]rpc.BatchElem, len(some))
		answers := make([]*T, len(some))
		for i, hash := range some {
			calls[i] = rpc.BatchElem{Method: method, Args: []any{hash}, Result: &answers[i]}
		}
		if err := b.Client().BatchCallContext(ctx, calls); err != nil {
			return fmt.Errorf("call %s for %d transactions: %w", method, len(some), err)
		}
		for i, hash := range some {
			if err := calls[i].Error; err != nil {
				return fmt.Errorf("call %s for %s: %w", method, hash, err)
			}
			if answers[i] != nil {
				take(hash, answers[i])
			}
		}
	}
	return nil
}
