package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

const (
	// watchSpan is the number of blocks in one request for logs. Nodes limit it.
	watchSpan = 1000
	// watchBack is how far the watcher goes back if a reorganization replaced the block
	// that it read last: further than any chain reorganizes.
	watchBack = 256
)

// cursor is the newest block that was watched.
type cursor struct {
	Block uint64      `json:"block"`
	Hash  common.Hash `json:"hash"`
}

// watchAlways watches every Config.Poll, or, if the node announces blocks, for each
// block.
func (r *Rail) watchAlways(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		next := r.chain.NextBlock() // before the work, so that no block is missed
		err := r.logged(ctx, "watch the router", r.watch)
		if next == nil || err != nil {
			timer.Reset(r.config.Poll)
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// watch looks for revocations in the blocks that have become final since the last
// call. It reports a revocation before it moves the cursor, so none is missed; one
// that was reported just before a crash is reported again.
func (r *Rail) watch(ctx context.Context) error {
	head, err := r.chain.Head(ctx)
	if err != nil {
		return err
	}
	if r.gauges.head.Swap(head) == head && r.caughtUp.Load() {
		return nil // no new block
	}
	r.caughtUp.Store(false)
	final, ok := r.chain.Final(head)
	if !ok {
		return nil
	}
	at, found, err := records.Load[cursor](ctx, r.config.Store, kindCursor, cursorWatch)
	if err != nil {
		return err
	}
	if !found && r.config.FromBlock > 0 {
		at.Block = r.config.FromBlock - 1
	}
	if found {
		if at, err = r.rewind(ctx, at); err != nil {
			return err
		}
	}
	for next := at.Block + 1; next <= final; next += watchSpan {
		last := min(next+watchSpan-1, final)
		if err := r.watchBlocks(ctx, next, last); err != nil {
			return err
		}
	}
	r.gauges.watched.Store(final)
	r.caughtUp.Store(true)
	return nil
}

// rewind moves the cursor back if a reorganization replaced its block.
func (r *Rail) rewind(ctx context.Context, at cursor) (cursor, error) {
	header, err := r.chain.Header(ctx, at.Block)
	if err == nil && header.Hash() == at.Hash {
		return at, nil
	}
	if err != nil && !errors.Is(err, ethereum.NotFound) {
		return at, err
	}
	failpoint.Hit(failpoint.WatcherRewound)
	r.config.Logger.WarnContext(ctx, "chain was reorganized under the watcher", slog.Uint64("block", at.Block))
	return cursor{Block: at.Block - min(at.Block, watchBack)}, nil
}

// watchBlocks handles the revocations in a range of blocks, and moves the cursor to
// its end.
func (r *Rail) watchBlocks(ctx context.Context, first, last uint64) error {
	end, err := r.cursorAt(ctx, last)
	if err != nil {
		return err
	}
	events, err := contracts.MandateRouterMetaData.ParseABI()
	if err != nil {
		return fmt.Errorf("read ABI: %w", err)
	}
	logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(last),
		Addresses: []common.Address{r.config.Router}, Topics: [][]common.Hash{{events.Events["MandateRevoked"].ID}},
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	for _, l := range logs {
		e, err := r.router.UnpackMandateRevokedEvent(&l)
		if err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		failpoint.Hit(failpoint.WatcherSaw)
		if err := r.handleRevocation(ctx, Revocation{GrantID: e.GrantId, Owner: e.Owner, By: e.By, TxHash: l.TxHash}); err != nil {
			return err
		}
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error { return records.Put(tx, kindCursor, cursorWatch, end) })
	if err != nil {
		return fmt.Errorf("store cursor: %w", err)
	}
	failpoint.Hit(failpoint.WatcherMoved)
	return nil
}

// cursorAt returns the cursor at a block.
func (r *Rail) cursorAt(ctx context.Context, block uint64) (cursor, error) {
	header, err := r.chain.Header(ctx, block)
	if err != nil {
		return cursor{}, err
	}
	return cursor{Block: block, Hash: header.Hash()}, nil
}
