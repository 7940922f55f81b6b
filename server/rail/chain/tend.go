package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

const (
	// tendEvery is the least time between two rounds of tend.
	tendEvery = 500 * time.Millisecond
	// restFor is how long rounds are left out while nothing changes.
	restFor = 2 * time.Second
	// tended is how many open slots one round looks at.
	tended = 512
	// watchedDepth is how long a slot that is final is still kept: a reorganization
	// that undoes it must find it sent again.
	watchedDepth = 64
	// stuckAfter is how long a transaction may wait for its block before an alarm.
	stuckAfter = 2 * time.Minute
)

// outlook is how the chain stands at the beginning of a round.
type outlook struct {
	header *types.Header // of the newest block
	head   uint64
	deep   uint64 // the newest final block
	final  bool   // whether there is one
	next   uint64 // the relayer's nonce that the chain waits for
}

func (r *Rail) lookOut(ctx context.Context, header *types.Header) (now outlook, err error) {
	now.header = header
	now.head = now.header.Number.Uint64()
	now.deep, now.final = r.confirmed(now.head)
	if now.next, err = r.config.RPC.NonceAt(ctx, r.relayer, now.header.Number); err != nil {
		return now, fmt.Errorf("read nonce: %w", err)
	}
	return now, nil
}

// rest is how the last round of tend ended. While chain and records stay the same, the
// next rounds have nothing to do.
type rest struct {
	head   common.Hash
	opened uint64    // Rail.slotsOpened when the round began
	until  time.Time // zero if something was left to do
}

// tendUnlessAtRest tends the transactions, unless there are none and nothing changed. At
// rest it asks only for the newest header, and every restFor for what other instances
// left.
func (r *Rail) tendUnlessAtRest(ctx context.Context) error {
	opened := r.slotsOpened.Load()
	header, err := r.newest(ctx)
	if err != nil {
		return err
	}
	head := header.Hash()
	if r.rest.head == head && r.rest.opened == opened && time.Now().Before(r.rest.until) {
		return nil
	}
	r.rest = rest{head: head, opened: opened}
	idle, err := r.tendAt(ctx, header)
	if err == nil && idle {
		r.rest.until = time.Now().Add(restFor)
	}
	return err
}

// tend does one round.
func (r *Rail) tend(ctx context.Context) error {
	header, err := r.newest(ctx)
	if err != nil {
		return err
	}
	_, err = r.tendAt(ctx, header)
	return err
}

// tendAt keeps the relayer's transactions going: it sends those again that the network
// forgot, and replaces or cancels those that do not get into a block. The one that the
// chain waits for comes first, however many are open. It reports whether nothing is
// left to do before the next block.
func (r *Rail) tendAt(ctx context.Context, header *types.Header) (idle bool, err error) {
	now, err := r.lookOut(ctx, header)
	if err != nil {
		return false, err
	}
	errs := []error{r.tendFirst(ctx, now)}
	open, err := r.openSlots(ctx)
	errs = append(errs, err, r.tendOpen(ctx, now, open), r.tendLanded(ctx, now))
	if len(open) > 0 || r.looked.Load() == 0 {
		errs = append(errs, r.checkBalance(ctx))
	}
	undecided, err := r.tellAgain(ctx)
	errs = append(errs, err, r.reportUndone(ctx), r.sweepSightings(ctx))
	return len(open) == 0 && undecided == 0, errors.Join(errs...)
}

// tendFirst pushes the slot whose nonce the chain waits for. If it seemed final or
// lost before the chain was reorganized, it is opened again: without it no later one
// can land.
func (r *Rail) tendFirst(ctx context.Context, now outlook) error {
	key := slotKey(now.next)
	var s slot
	var exists, open bool
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		if s, exists, err = read[slot](tx, kindSlot, key); err != nil || !exists {
			return err
		}
		_, open, err = tx.Get(kindOpenSlot, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("read transaction %d: %w", now.next, err)
	}
	if !exists {
		return r.checkOwnNonce(ctx, now.next)
	}
	if !open {
		if err := r.reopen(ctx, s); err != nil {
			return err
		}
	}
	known, err := r.known(ctx, []common.Hash{s.hash()})
	if err != nil {
		return err
	}
	return r.tendWaiting(ctx, now, s, known[s.hash()])
}

// reopen tends a slot again.
func (r *Rail) reopen(ctx context.Context, s slot) error {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		return errors.Join(write(tx, kindOpenSlot, slotKey(s.Nonce), true), tx.Delete(kindLandedSlot, slotKey(s.Nonce)))
	})
	if err != nil {
		return fmt.Errorf("open transaction %d again: %w", s.Nonce, err)
	}
	failpoint.Hit(failpoint.Reopened)
	return nil
}

// openSlots are the lowest that are not final.
func (r *Rail) openSlots(ctx context.Context) (open []slot, err error) {
	return r.slotsOf(ctx, kindOpenSlot, "")
}

// slotsOf are the slots that records of a kind name, after a key.
func (r *Rail) slotsOf(ctx context.Context, kind, after string) (slots []slot, err error) {
	err = r.config.Store.View(ctx, func(tx Tx) error {
		slots = nil
		keys, err := tx.List(kind, after, tended)
		if err != nil {
			return err
		}
		for _, one := range keys {
			s, found, err := read[slot](tx, kindSlot, one.Key)
			if err != nil {
				return err
			}
			if found {
				slots = append(slots, s)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	return slots, nil
}

// tendOpen pushes the slots that are in no block, and takes leave of those that are
// final.
func (r *Rail) tendOpen(ctx context.Context, now outlook, open []slot) error {
	var waiting, used []slot
	var hashes []common.Hash
	cost := new(big.Int)
	for _, s := range open {
		switch {
		case s.Nonce < now.next:
			used = append(used, s)
		case s.Nonce > now.next:
			waiting = append(waiting, s)
			hashes = append(hashes, s.hash())
			fallthrough
		default: // the first was pushed
			cost.Add(cost, weiOf(s.Gas, s.last().FeeCap))
		}
	}
	r.committed.count(cost)
	r.watchOldest(ctx, now, open)
	errs := []error{r.tendUsed(ctx, now, used)}
	known, err := r.known(ctx, hashes)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, s := range waiting {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, r.tendWaiting(ctx, now, s, known[s.hash()]))
	}
	return errors.Join(errs...)
}

// watchOldest raises the alarm if a transaction waits long for its block.
func (r *Rail) watchOldest(ctx context.Context, now outlook, open []slot) {
	r.figures.open.Store(int64(len(open)))
	var age time.Duration
	var oldest slot
	for _, s := range open {
		if waits := r.config.Clock().Sub(s.Broadcasts[0].At); s.Nonce >= now.next && waits > age {
			age, oldest = waits, s
		}
	}
	r.figures.oldest.Store(int64(age))
	if age > stuckAfter && r.alarms.due("oldest transaction", r.config.Clock()) {
		r.config.Logger.ErrorContext(ctx, "a transaction waits long for its block", slog.Duration("age", age),
			slog.Uint64("nonce", oldest.Nonce), slog.Int("broadcasts", len(oldest.Broadcasts)))
	}
}

// tendUsed looks for the receipts of slots whose nonce the newest block has used.
func (r *Rail) tendUsed(ctx context.Context, now outlook, used []slot) error {
	receipts, err := r.receipts(ctx, used)
	if err != nil {
		return err
	}
	landed := map[uint64]landing{}
	var errs []error
	for _, s := range used {
		receipt := receipts[s.Nonce]
		switch {
		case receipt == nil:
			errs = append(errs, r.tendLost(ctx, s))
		case now.final && receipt.BlockNumber.Uint64() <= now.deep:
			if err := r.conclude(ctx, s, receipt); err != nil {
				errs = append(errs, err)
				continue
			}
			landed[s.Nonce] = landing{Block: receipt.BlockNumber.Uint64()}
		}
	}
	return errors.Join(append(errs, r.land(ctx, landed))...)
}

// tendLost lets a slot go whose nonce something else has used for good.
func (r *Rail) tendLost(ctx context.Context, s slot) error {
	became, _, err := r.examine(ctx, s)
	if err != nil || became != displaced {
		return err
	}
	r.config.Logger.ErrorContext(ctx, "relayer's nonce was used by somebody else", slog.Uint64("nonce", s.Nonce), slog.String("task", s.Task))
	if err := r.judge(ctx, s, nil); err != nil {
		return err
	}
	return r.leave(ctx, s)
}

// checkOwnNonce raises the alarm if the chain has seen transactions of the relayer
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

// leave lets a slot go whose nonce is lost. Its task may have another one.
func (r *Rail) leave(ctx context.Context, s slot) error {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		if err := tx.Delete(kindOpenSlot, slotKey(s.Nonce)); err != nil {
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
	failpoint.Hit(failpoint.NonceLost)
	return nil
}

// warnEvery is how often a low balance is told.
const warnEvery = time.Minute

// checkBalance warns before the relayer runs dry: at the start, and while it spends.
func (r *Rail) checkBalance(ctx context.Context) error {
	now, last := r.config.Clock().UnixMilli(), r.looked.Load()
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
