// Package eth reads a chain through one node: its newest and its final blocks, the
// views of contracts, and receipts in batches. It decides whether a failed call is a
// contract's answer or the node's failure.
package eth

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/paywarrant/paywarrant/internal/money"
)

// Node is what a [Reader] needs of a node.
type Node interface {
	BlockNumber(ctx context.Context) (uint64, error)
	HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error)
	CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error)
	TransactionByHash(ctx context.Context, hash common.Hash) (tx *types.Transaction, pending bool, err error)
	TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error)
}

// Reader reads a chain. It is safe for concurrent use.
type Reader struct {
	// Node answers the reader's calls. Required.
	Node Node
	// Confirmations is the depth at which a block is final: the newest block has
	// depth 1.
	Confirmations uint64
	// SafeAbove and FinalizedAbove are the amounts above which a payment is final only
	// in a block that the node calls safe, or finalized, beside Confirmations. Zero: no
	// amount is.
	SafeAbove, FinalizedAbove money.Micros
}

// Head returns the number of the newest block.
func (r *Reader) Head(ctx context.Context) (uint64, error) {
	head, err := r.Node.BlockNumber(ctx)
	if err != nil {
		return 0, fmt.Errorf("read newest block: %w", err)
	}
	return head, nil
}

// Newest returns the header of the newest block.
func (r *Reader) Newest(ctx context.Context) (*types.Header, error) {
	header, err := r.Node.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("read newest block: %w", err)
	}
	return header, nil
}

// Header returns the header of a block. The error wraps [ethereum.NotFound] if the
// chain has no such block.
func (r *Reader) Header(ctx context.Context, block uint64) (*types.Header, error) {
	header, err := r.Node.HeaderByNumber(ctx, new(big.Int).SetUint64(block))
	if err != nil {
		return nil, fmt.Errorf("read block %d: %w", block, err)
	}
	return header, nil
}

// TimeOf returns the time of a block.
func (r *Reader) TimeOf(ctx context.Context, block uint64) (time.Time, error) {
	header, err := r.Header(ctx, block)
	if err != nil {
		return time.Time{}, err
	}
	return Time(header), nil
}

// Time returns the time of a block's header.
func Time(header *types.Header) time.Time {
	return time.Unix(int64(header.Time), 0).UTC() // overflows in the year 292 billion
}

// Final returns the number of the newest final block if head is the newest one, and
// reports whether there is a final block.
func (r *Reader) Final(head uint64) (uint64, bool) {
	if head+1 < r.Confirmations {
		return 0, false
	}
	return head + 1 - r.Confirmations, true
}

// FinalFor reports whether a block with enough confirmations is final for an amount:
// it must also be safe or finalized if the amount is above SafeAbove or
// FinalizedAbove.
func (r *Reader) FinalFor(ctx context.Context, amount *big.Int, block uint64) (bool, error) {
	above := func(limit money.Micros) bool { return limit > 0 && amount.Cmp(big.NewInt(int64(limit))) > 0 }
	tag := rpc.SafeBlockNumber
	switch {
	case above(r.FinalizedAbove):
		tag = rpc.FinalizedBlockNumber
	case !above(r.SafeAbove):
		return true, nil
	}
	header, err := r.Node.HeaderByNumber(ctx, big.NewInt(tag.Int64()))
	if errors.Is(err, ethereum.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s block: %w", tag, err)
	}
	return header.Number.Cmp(new(big.Int).SetUint64(block)) >= 0, nil
}

// announcer is a [Node] that announces its blocks. The reader then need not poll.
type announcer interface {
	// NextBlock returns a channel that is closed when the newest block changes.
	NextBlock() <-chan struct{}
}

// NextBlock returns a channel that is closed when the node announces another newest
// block, or nil if the node announces none.
func (r *Reader) NextBlock() <-chan struct{} {
	if a, ok := r.Node.(announcer); ok {
		return a.NextBlock()
	}
	return nil
}

// Pause waits between two reads of the chain, at most until the block that next
// announces. It returns ctx's error if ctx ends first.
func Pause(ctx context.Context, next <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
