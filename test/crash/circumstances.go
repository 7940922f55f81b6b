package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// steps are the points of the chain, with what brings them about.
func (d *chainDrill) steps() labels {
	holds := []failpoint.Point{failpoint.CaptureBegun, failpoint.VoidRecorded, failpoint.HoldExpired}
	return labels{points: d.only(slices.Concat(chainPoints(), failpoint.RefundPoints(), holds)), passes: passes, around: d.around}
}

// chainPoints returns the steps of the chain alone.
func chainPoints() []failpoint.Point {
	return slices.Concat(failpoint.ChainPoints(), failpoint.ChainRefundPoints(), failpoint.SettlementPoints())
}

// passes is at which time the service ends at a point, at most: those that updates
// and transactions of every kind pass through are reached by many of them.
func passes(p failpoint.Point) int {
	switch p {
	case failpoint.RecordsWritten, failpoint.RecordsCommitted:
		return 40
	case failpoint.NonceTaken:
		return 12
	case failpoint.TransferSigned, failpoint.TransferStored, failpoint.TransferSent, failpoint.TransferLanded, failpoint.TransferDecided,
		failpoint.WatcherMoved:
		return 4
	default:
		return 1
	}
}

const (
	// someBlocks is a reorganization that the watcher meets.
	someBlocks = 3
	// manyBlocks is more than the number of blocks for which the rail tends a transaction.
	manyBlocks = 66
	// deepest is how far the chain goes back: it keeps the states of 128 blocks.
	deepest = 110
	// aWhile is how long the service is left with what was done.
	aWhile = 3 * time.Second
)

// around brings about what a point needs beside load, until ctx ends.
func (d *chainDrill) around(ctx context.Context, p failpoint.Point) error {
	switch p {
	case failpoint.ReplacementSigned, failpoint.ReplacementStored, failpoint.ReplacementSent: // no block is made
		release := d.node.chain.Hold()
		defer release()
		<-ctx.Done()
		return nil
	case failpoint.Forgotten: // the network loses whatever it is sent
		defer d.node.take(func(*types.Transaction) bool { return true })()
		<-ctx.Done()
		return nil
	case failpoint.NonceLost:
		defer d.node.take(d.thief())()
		<-ctx.Done()
		return nil
	case failpoint.WatcherRewound: // a watcher that starts begins at a block that is gone
		return d.onAndOn(ctx, func(ctx context.Context) error { return d.node.chain.Reorg(ctx, someBlocks, true) })
	case failpoint.Buried:
		return d.onAndOn(ctx, d.bury)
	case failpoint.Reopened:
		return d.onAndOn(ctx, d.dig)
	default:
		return nil
	}
}

// onAndOn does a thing, and again after a while, until ctx ends. A chain that made no
// block makes one the next time.
func (d *chainDrill) onAndOn(ctx context.Context, do func(context.Context) error) error {
	for ctx.Err() == nil {
		err := do(ctx)
		if err == nil || errors.Is(err, devchain.ErrStuck) {
			err = sleep.For(ctx, aWhile)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// bury makes many blocks on top of all there is.
func (d *chainDrill) bury(context.Context) error {
	for range manyBlocks {
		if _, err := d.node.chain.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// dig buries a transaction until the rail no longer tends it, and takes back all
// blocks from its own on.
func (d *chainDrill) dig(ctx context.Context) error {
	nonce, block, err := d.lands(ctx)
	if err != nil {
		return err
	}
	d.calm.Lock() // more blocks than that the chain could not take back
	defer d.calm.Unlock()
	if err := d.bury(ctx); err != nil {
		return err
	}
	if err := d.left(ctx, nonce); err != nil {
		return err
	}
	now, err := d.node.chain.Client().BlockNumber(ctx)
	if err != nil || now-block > deepest {
		return err
	}
	return d.node.chain.Reorg(ctx, int(now-block)+1, true)
}

// lands waits for the relayer's next transaction, and returns its nonce, and its block
// or an earlier one.
func (d *chainDrill) lands(ctx context.Context) (nonce, block uint64, err error) {
	client, relayer := d.node.chain.Client(), devchain.Relayer().Address
	first, err := client.NonceAt(ctx, relayer, nil)
	for next := first; err == nil && next == first; {
		if block, err = client.BlockNumber(ctx); err != nil {
			break
		}
		if err = sleep.For(ctx, time.Millisecond); err == nil {
			next, err = client.NonceAt(ctx, relayer, nil)
		}
	}
	return first, block + 1, err
}

// left waits until the service no longer tends a transaction.
func (d *chainDrill) left(ctx context.Context, nonce uint64) (err error) {
	store, err := d.openRecords(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for open := true; open; {
		err := store.View(ctx, func(tx chain.Tx) error {
			key := fmt.Sprintf("%020d", nonce)
			if _, open, err = tx.Get("open", key); err != nil || open {
				return err
			}
			_, open, err = tx.Get("landed", key)
			return err
		})
		if err == nil {
			err = sleep.For(ctx, 50*time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// thief uses the nonce of one charge's transaction for another one of the relayer's
// key, as a program would that has the key too.
func (d *chainDrill) thief() func(tx *types.Transaction) bool {
	charge := contracts.NewMandateRouter().PackCharge([32]byte{}, common.Address{}, new(big.Int), [32]byte{}, new(big.Int), nil)[:4]
	done := false
	return func(tx *types.Transaction) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		if done || !bytes.HasPrefix(tx.Data(), charge) {
			return false
		}
		to := devchain.Relayer().Address
		other, err := types.SignNewTx(devchain.Relayer().Key(), types.LatestSignerForChainID(tx.ChainId()), &types.DynamicFeeTx{
			ChainID: tx.ChainId(), Nonce: tx.Nonce(), GasTipCap: tx.GasTipCap(), GasFeeCap: tx.GasFeeCap(), Gas: 21_000, To: &to,
		})
		if err == nil {
			err = d.node.chain.Client().SendTransaction(context.Background(), other)
		}
		if done = err == nil; done { // else it was late: the nonce is used
			d.stolen[other.Hash()] = true
		}
		return done
	}
}
