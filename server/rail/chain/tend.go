package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// tendEvery is the least time between two rounds of tend.
	tendEvery = 500 * time.Millisecond
	// tended is how many open slots one round looks at.
	tended = 512
	// watchedDepth is how long a slot that is final is still looked after: a
	// reorganization that undoes it must find it sent again.
	watchedDepth = 64
	// maxBroadcasts is how often a slot is replaced at most.
	maxBroadcasts = 16
)

// tend looks after all transactions that the chain has not used for good: those
// that the network forgot are sent again, those that do not get on are replaced.
func (r *Rail) tend(ctx context.Context) error {
	if err := r.reopen(ctx); err != nil {
		return err
	}
	var open []Record
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		open, err = tx.List(kindOpenSlot, "", tended)
		return err
	})
	if err != nil {
		return fmt.Errorf("list open transactions: %w", err)
	}
	r.figures.open.Store(int64(len(open)))
	var errs []error
	for _, one := range open {
		if ctx.Err() != nil {
			break
		}
		s, found, err := view[slot](ctx, r.config.Store, kindSlot, one.Key)
		if err == nil && found {
			err = r.tendSlot(ctx, s)
		}
		errs = append(errs, err)
	}
	if len(open) > 0 || r.looked.Load() == 0 {
		errs = append(errs, r.checkBalance(ctx))
	}
	errs = append(errs, r.tellAgain(ctx), r.sweepSightings(ctx))
	return errors.Join(errs...)
}

// reopen finds the slot whose nonce the chain waits for. Where nobody looks after
// it any more, because it seemed final or lost before the chain was reorganized, it
// is looked after again: without it no later one could land.
func (r *Rail) reopen(ctx context.Context) error {
	nonce, err := r.config.RPC.NonceAt(ctx, r.relayer, nil)
	if err != nil {
		return fmt.Errorf("read nonce: %w", err)
	}
	key := slotKey(nonce)
	_, exists, err := view[slot](ctx, r.config.Store, kindSlot, key)
	if err != nil {
		return err
	}
	if !exists {
		return r.checkOwnNonce(ctx, nonce)
	}
	_, open, err := view[bool](ctx, r.config.Store, kindOpenSlot, key)
	if err != nil || open {
		return err
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error { return write(tx, kindOpenSlot, key, true) })
	if err != nil {
		return fmt.Errorf("look after transaction %d again: %w", nonce, err)
	}
	failpoint.Hit(failpoint.Reopened)
	return nil
}

// checkOwnNonce raises the alarm where the chain has seen transactions of the relayer
// that these records do not know.
func (r *Rail) checkOwnNonce(ctx context.Context, used uint64) error {
	next, begun, err := view[uint64](ctx, r.config.Store, kindCursor, cursorNonce)
	if err != nil || !begun || used <= next {
		return err
	}
	if r.foreign.Swap(used) != used {
		r.config.Logger.ErrorContext(ctx, "relayer's key is used by another program, or the records are an old copy",
			slog.String("address", r.relayer.Hex()), slog.Uint64("used", used), slog.Uint64("known", next))
	}
	return nil
}

func (r *Rail) tendSlot(ctx context.Context, s slot) error {
	became, receipt, err := r.examine(ctx, s)
	if err != nil {
		return err
	}
	switch became {
	case final:
		if err := r.contradicts(ctx, s, receipt); err != nil {
			return err
		}
		head, err := r.config.RPC.BlockNumber(ctx)
		if err != nil || head < receipt.BlockNumber.Uint64()+watchedDepth {
			return err
		}
		return r.leave(ctx, s, false)
	case displaced:
		r.config.Logger.ErrorContext(ctx, "relayer's nonce was used by somebody else", slog.Uint64("nonce", s.Nonce), slog.String("task", s.Task))
		return r.leave(ctx, s, true)
	case included:
		return nil
	case waiting:
		fallthrough
	default:
		return r.push(ctx, s)
	}
}

// contradicts raises the alarm where a charge that was refused has moved money
// after all: the chain was reorganized deeper than Config.Confirmations.
func (r *Rail) contradicts(ctx context.Context, s slot, receipt *types.Receipt) error {
	key, ok := strings.CutPrefix(s.Task, chargePrefix)
	if !ok || receipt.Status != types.ReceiptStatusSuccessful {
		return nil
	}
	record, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || !found || record.Outcome == nil || record.Outcome.Status != rail.Refused {
		return err
	}
	if r.moved(record, logsOf(receipt)) {
		r.config.Logger.ErrorContext(ctx, "a refused charge has moved money",
			slog.String("hash", receipt.TxHash.Hex()), slog.String("grant", record.Charge.GrantID.Hex()))
	}
	return nil
}

// leave stops looking after a slot. A task that lost its slot may have another.
func (r *Rail) leave(ctx context.Context, s slot, lost bool) error {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		if err := tx.Delete(kindOpenSlot, slotKey(s.Nonce)); err != nil || !lost {
			return err
		}
		nonce, found, err := read[uint64](tx, kindTask, s.Task)
		if err != nil || !found || nonce != s.Nonce {
			return err
		}
		return tx.Delete(kindTask, s.Task)
	})
	if err != nil {
		return fmt.Errorf("leave transaction %d: %w", s.Nonce, err)
	}
	if lost {
		failpoint.Hit(failpoint.NonceLost)
	} else {
		failpoint.Hit(failpoint.Buried)
	}
	return nil
}

// push sends a slot again that the node does not know, and replaces one that has
// waited long.
func (r *Rail) push(ctx context.Context, s slot) error {
	_, _, err := r.config.RPC.TransactionByHash(ctx, s.last().Hash)
	if errors.Is(err, ethereum.NotFound) {
		failpoint.Hit(failpoint.Forgotten)
		r.send(ctx, s.last())
	} else if err != nil {
		return fmt.Errorf("look for transaction: %w", err)
	}
	if len(s.Broadcasts) >= maxBroadcasts || r.config.Clock.Now().Sub(s.last().At) < r.config.BumpAfter {
		return nil
	}
	return r.replace(ctx, s)
}

// replace stores and sends a transaction of the same nonce with higher fees.
func (r *Rail) replace(ctx context.Context, s slot) error {
	offer, err := r.suggest(ctx)
	if err != nil {
		return err
	}
	offer = fees{tip: higher(offer.tip, s.last().TipCap), cap: higher(offer.cap, s.last().FeeCap)}
	if offer.cap.Cmp(r.config.MaxFeeWei) > 0 {
		r.config.Logger.WarnContext(ctx, "transaction waits at the highest fee", slog.Uint64("nonce", s.Nonce))
		return nil
	}
	signed, err := r.sign(s, offer)
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.ReplacementSigned)
	stored := false
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		stored = false
		now, found, err := read[slot](tx, kindSlot, slotKey(s.Nonce))
		if err != nil || !found || len(now.Broadcasts) != len(s.Broadcasts) {
			return err // somebody else replaced it
		}
		now.Broadcasts = append(now.Broadcasts, signed)
		stored = true
		return write(tx, kindSlot, slotKey(s.Nonce), now)
	})
	if err != nil {
		return fmt.Errorf("store replacement: %w", err)
	}
	if stored {
		failpoint.Hit(failpoint.ReplacementStored)
		r.config.Logger.InfoContext(ctx, "transaction replaced", slog.Uint64("nonce", s.Nonce), slog.String("hash", signed.Hash.Hex()))
		r.send(ctx, signed)
		failpoint.Hit(failpoint.ReplacementSent)
	}
	return nil
}

// higher is what is suggested, but at least an eighth more than before: nodes take
// no replacement for less than a tenth.
func higher(suggested, before *big.Int) *big.Int {
	least := new(big.Int).Rsh(before, 3)
	least.Add(least, before).Add(least, common.Big1)
	if suggested.Cmp(least) > 0 {
		return suggested
	}
	return least
}

// warnEvery is how often a low balance is told.
const warnEvery = time.Minute

// checkBalance warns before the relayer runs dry: at the start, and while it spends.
func (r *Rail) checkBalance(ctx context.Context) error {
	now, last := r.config.Clock.Now().UnixMilli(), r.looked.Load()
	if last != 0 && now-last < warnEvery.Milliseconds() {
		return nil
	}
	balance, err := r.config.RPC.BalanceAt(ctx, r.relayer, nil)
	if err != nil {
		return fmt.Errorf("read relayer's balance: %w", err)
	}
	r.figures.sawBalance(balance)
	if r.looked.CompareAndSwap(last, now) && balance.Cmp(r.config.LowBalanceWei) < 0 {
		r.config.Logger.WarnContext(ctx, "relayer's balance is low", slog.String("wei", balance.String()), slog.String("address", r.relayer.Hex()))
	}
	return nil
}
