package relayer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

const (
	// TendEvery is the least pause between two calls of [Relayer.Tend].
	TendEvery = 500 * time.Millisecond
	// page bounds the slots that a round tends, and the records read at a time.
	page = 512
	// stuckAfter is how long a transaction may wait for its block before an alarm.
	stuckAfter = 2 * time.Minute
	// warnEvery is the least time between two warnings of a low balance.
	warnEvery = time.Minute
)

// chainHead is the state of the chain at the beginning of a round.
type chainHead struct {
	header   *types.Header // of the newest block
	number   uint64
	final    uint64 // the newest final block
	hasFinal bool
	next     uint64 // the relayer's nonce that the chain waits for
}

func (r *Relayer) readHead(ctx context.Context, header *types.Header) (now chainHead, err error) {
	now.header, now.number = header, header.Number.Uint64()
	now.final, now.hasFinal = r.config.Chain.Final(now.number)
	now.next, err = r.nonce(ctx, header.Number)
	return now, err
}

// isFinal reports whether a receipt is of a final block.
func (h chainHead) isFinal(receipt *types.Receipt) bool {
	return h.hasFinal && receipt.BlockNumber.Uint64() <= h.final
}

// Tend runs one round of work on the relayer's transactions, for the newest block. It
// begins with the one that the chain waits for, however many are open. It reports
// whether none is open.
func (r *Relayer) Tend(ctx context.Context, newest *types.Header) (idle bool, err error) {
	now, err := r.readHead(ctx, newest)
	if err != nil {
		return false, err
	}
	errs := []error{r.tendFirst(ctx, now)}
	before := r.committed.mark()
	open, err := r.slots(ctx, kindOpenSlot, "")
	if err == nil {
		err = errors.Join(r.countOpen(ctx, now, open, before), r.tendOpen(ctx, now, open))
	}
	errs = append(errs, err, r.tendLanded(ctx, now))
	if len(open) > 0 || r.balanceAt.Load() == 0 {
		errs = append(errs, r.checkBalance(ctx))
	}
	return len(open) == 0, errors.Join(errs...)
}

// tendFirst tends the slot whose nonce the chain waits for. If the slot was closed
// before a reorganization, tendFirst opens it again: no later transaction can land
// without it.
func (r *Relayer) tendFirst(ctx context.Context, now chainHead) error {
	key := slotKey(now.next)
	var s Slot
	var exists, open bool
	err := r.config.Store.View(ctx, func(tx records.Tx) (err error) {
		if s, exists, err = records.Get[Slot](tx, kindSlot, key); err != nil || !exists {
			return err
		}
		_, open, err = tx.Get(kindOpenSlot, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("read transaction %d: %w", now.next, err)
	}
	if !exists {
		return r.checkForeign(ctx, now.next)
	}
	if !open {
		if err := r.reopen(ctx, s); err != nil {
			return err
		}
	}
	known, err := r.config.Chain.Known(ctx, []common.Hash{s.Hash()})
	if err != nil {
		return err
	}
	return r.tendWaiting(ctx, now, s, known[s.Hash()])
}

// reopen makes a slot open again.
func (r *Relayer) reopen(ctx context.Context, s Slot) error {
	err := r.config.Store.Update(ctx, func(tx records.Tx) error {
		return errors.Join(records.Put(tx, kindOpenSlot, slotKey(s.Nonce), true), tx.Delete(kindLandedSlot, slotKey(s.Nonce)))
	})
	if err != nil {
		return fmt.Errorf("open transaction %d again: %w", s.Nonce, err)
	}
	failpoint.Hit(failpoint.Reopened)
	return nil
}

// slots returns up to a page of the slots that records of a kind name, after a key.
func (r *Relayer) slots(ctx context.Context, kind, after string) (slots []Slot, err error) {
	err = r.config.Store.View(ctx, func(tx records.Tx) error {
		slots = nil
		keys, err := tx.List(kind, after, page)
		if err != nil {
			return err
		}
		for _, one := range keys {
			s, found, err := records.Get[Slot](tx, kindSlot, one.Key)
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

// tendOpen tends the open slots that are in no block, after the first one, and moves
// those that are final to the landed ones.
func (r *Relayer) tendOpen(ctx context.Context, now chainHead, open []Slot) error {
	var waiting, used []Slot
	var hashes []common.Hash
	for _, s := range open {
		switch {
		case s.Nonce < now.next:
			used = append(used, s)
		case s.Nonce > now.next:
			waiting = append(waiting, s)
			hashes = append(hashes, s.Hash())
		default: // tendFirst has tended the first
		}
	}
	errs := []error{r.tendUsed(ctx, now, used)}
	known, err := r.config.Chain.Known(ctx, hashes)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, s := range waiting {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, r.tendWaiting(ctx, now, s, known[s.Hash()]))
	}
	return errors.Join(errs...)
}

// tendUsed reads the receipts of slots whose nonce is used in the newest block.
func (r *Relayer) tendUsed(ctx context.Context, now chainHead, used []Slot) error {
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
			errs = append(errs, r.closeLost(ctx, s))
		case now.isFinal(receipt):
			if err := r.conclude(ctx, s, receipt); err != nil {
				errs = append(errs, err)
				continue
			}
			landed[s.Nonce] = landing{Block: receipt.BlockNumber.Uint64()}
		}
	}
	return errors.Join(append(errs, r.storeLanded(ctx, landed))...)
}

// receipts returns the receipts of those slots that are in a block, by nonce.
func (r *Relayer) receipts(ctx context.Context, slots []Slot) (map[uint64]*types.Receipt, error) {
	var hashes []common.Hash
	nonces := map[common.Hash]uint64{}
	for _, s := range slots {
		for _, b := range s.Broadcasts {
			hashes = append(hashes, b.Hash)
			nonces[b.Hash] = s.Nonce
		}
	}
	byHash, err := r.config.Chain.Receipts(ctx, hashes)
	if err != nil {
		return nil, err
	}
	found := make(map[uint64]*types.Receipt, len(byHash))
	for hash, receipt := range byHash {
		found[nonces[hash]] = receipt
	}
	return found, nil
}

// closeLost closes a slot if its nonce was taken for good.
func (r *Relayer) closeLost(ctx context.Context, s Slot) error {
	state, _, err := r.Examine(ctx, s)
	if err != nil || state != NonceTaken {
		return err
	}
	r.config.Logger.ErrorContext(ctx, "relayer's nonce was used by another program", slog.Uint64("nonce", s.Nonce), slog.String("task", s.Task))
	if err := r.judge(ctx, s, nil); err != nil {
		return err
	}
	return r.Close(ctx, s)
}

// checkForeign raises an alarm if the chain has transactions of the relayer that the
// records do not have.
func (r *Relayer) checkForeign(ctx context.Context, used uint64) error {
	next, begun, err := records.Load[uint64](ctx, r.config.Store, kindCursor, cursorNonce)
	if err != nil || !begun || used <= next {
		return err
	}
	if r.foreign.Swap(used) != used {
		r.config.Logger.ErrorContext(ctx, "relayer's key is used by another program, or the records are an old copy",
			slog.String("address", r.address.Hex()), slog.Uint64("used", used), slog.Uint64("known", next))
	}
	return nil
}

// checkBalance warns before the relayer's balance is used up.
func (r *Relayer) checkBalance(ctx context.Context) error {
	now, last := r.config.Clock().UnixMilli(), r.balanceAt.Load()
	if last != 0 && now-last < warnEvery.Milliseconds() {
		return nil
	}
	balance, err := r.config.Node.BalanceAt(ctx, r.address, nil)
	if err != nil {
		return fmt.Errorf("read relayer's balance: %w", err)
	}
	r.gauges.setBalance(balance)
	if r.balanceAt.CompareAndSwap(last, now) && balance.Cmp(r.config.LowBalanceWei) < 0 {
		r.config.Logger.WarnContext(ctx, "relayer's balance is low", slog.String("wei", balance.String()), slog.String("address", r.address.Hex()))
	}
	return nil
}
