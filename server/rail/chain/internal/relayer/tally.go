package relayer

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// tally is what a round knows of all open slots, also of those that it does not tend.
type tally struct {
	open   int      // slots that are not final
	cost   *big.Int // the most that those in no block may cost, in wei
	oldest Slot     // the one in no block that was first broadcast before the others
}

// add counts a slot that is in no block.
func (t *tally) add(s Slot) {
	t.cost.Add(t.cost, weiOf(s.Gas, s.last().FeeCap))
	if len(t.oldest.Broadcasts) == 0 || s.Broadcasts[0].At.Before(t.oldest.Broadcasts[0].At) {
		t.oldest = s
	}
}

// countOpen counts the open slots: their cost, their number and the age of the oldest.
// The first page of them has been read, after the mark. After an error all figures stay
// as they are.
func (r *Relayer) countOpen(ctx context.Context, now chainHead, first []Slot, before *big.Int) error {
	all := tally{open: len(first), cost: new(big.Int)}
	for _, s := range first {
		if s.Nonce >= now.next {
			all.add(s)
		}
	}
	if len(first) > 0 {
		if err := r.countAfter(ctx, now, slotKey(first[len(first)-1].Nonce), &all); err != nil {
			return err
		}
	}
	r.committed.count(all.cost, before)
	r.gauges.open.Store(int64(all.open))
	r.checkAge(ctx, all.oldest)
	return nil
}

// countAfter counts the open slots after a key. It reads only those that are in no
// block: of the others the key is enough.
func (r *Relayer) countAfter(ctx context.Context, now chainHead, after string, all *tally) error {
	for full := true; full; {
		var keys []records.Record
		var waiting []Slot
		err := r.config.Store.View(ctx, func(tx records.Tx) (err error) {
			waiting = nil
			if keys, err = tx.List(kindOpenSlot, after, page); err != nil {
				return err
			}
			for _, one := range keys {
				if one.Key < slotKey(now.next) {
					continue
				}
				s, found, err := records.Get[Slot](tx, kindSlot, one.Key)
				if err != nil {
					return err
				}
				if found {
					waiting = append(waiting, s)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("count transactions: %w", err)
		}
		all.open += len(keys)
		for _, s := range waiting {
			all.add(s)
		}
		if full = len(keys) == page; full {
			after = keys[page-1].Key
		}
	}
	return nil
}

// checkAge raises an alarm if the oldest transaction has waited long for its block. The
// slot is empty if none waits.
func (r *Relayer) checkAge(ctx context.Context, oldest Slot) {
	var age time.Duration
	if len(oldest.Broadcasts) > 0 {
		age = max(r.config.Clock().Sub(oldest.Broadcasts[0].At), 0)
	}
	r.gauges.oldest.Store(int64(age))
	if age > stuckAfter && r.alarms.Due("oldest transaction", r.config.Clock()) {
		r.config.Logger.ErrorContext(ctx, "a transaction waits long for its block", slog.Duration("age", age),
			slog.Uint64("nonce", oldest.Nonce), slog.Int("broadcasts", len(oldest.Broadcasts)))
	}
}

// committedGas is what the transactions that are in no block yet may cost. A
// transaction that is submitted while slots are read may count twice until the next
// round, and never counts as nothing.
type committedGas struct {
	mu        sync.Mutex
	counted   big.Int // of all slots, when they were last read
	submitted big.Int // of all calls of Submit
	included  big.Int // the part of submitted that counted has
}

func (c *committedGas) add(wei *big.Int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.submitted.Add(&c.submitted, wei)
}

// mark returns what count must get of the moment before slots are read.
func (c *committedGas) mark() *big.Int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return new(big.Int).Set(&c.submitted)
}

// count sets the cost of all slots, which were read after mark.
func (c *committedGas) count(wei *big.Int, before *big.Int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted.Set(wei)
	c.included.Set(before)
}

func (c *committedGas) sum() *big.Int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := new(big.Int).Sub(&c.submitted, &c.included)
	return sum.Add(sum, &c.counted)
}
