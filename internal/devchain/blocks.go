package devchain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
)

// ErrStuck reports that no block could be made.
var ErrStuck = errors.New("devchain: no block was made")

// mine makes a block whenever a transaction waits, until Close.
func (c *Chain) mine() {
	for {
		select {
		case <-c.closing:
			return
		case <-c.arrived:
		}
		for more := true; more; {
			if !c.paced() {
				return
			}
			more = c.commitWaiting()
		}
	}
}

// wake has mine look for transactions.
func (c *Chain) wake() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// paced waits while the chain's clock is too far ahead, and reports whether the chain
// is still open.
func (c *Chain) paced() bool {
	c.making.Lock()
	wait := time.Until(c.Now().Add(-c.advanced - c.maxLead))
	c.making.Unlock()
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closing:
		return false
	}
}

// commitWaiting makes a block if a transaction waits for one, and reports whether it
// made one: more may wait.
func (c *Chain) commitWaiting() bool {
	c.making.Lock()
	defer c.making.Unlock()
	made, err := c.commitNext(context.Background())
	return made && err == nil
}

// commitNext makes a block if it is of use to a transaction that waits. The base fee
// only falls with further blocks, so one that offers too little gets an empty block
// while the fee falls.
func (c *Chain) commitNext(ctx context.Context) (made bool, err error) {
	if !c.waiting() {
		return false, nil
	}
	d, err := c.pending(ctx)
	if err != nil {
		return false, err
	}
	defer d.discard()
	if len(d.txs) == 0 && !(d.cheap && d.lowersFee()) {
		return false, nil
	}
	_, err = c.finish(ctx, d)
	return err == nil, err
}

// Commit makes a block of the transactions that wait, or an empty one, and returns
// its header. It returns [ErrStuck] if none could be made.
func (c *Chain) Commit() (*types.Header, error) {
	c.making.Lock()
	defer c.making.Unlock()
	return c.commit()
}

// commit makes a block. The caller holds making.
func (c *Chain) commit() (*types.Header, error) {
	ctx := context.Background()
	d, err := c.pending(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStuck, err)
	}
	defer d.discard()
	return c.finish(ctx, d)
}

// pending drafts the next block, with the transactions that wait.
func (c *Chain) pending(ctx context.Context) (*draft, error) {
	head := c.newest().Header()
	d, err := c.draftOn(ctx, head, max(head.Time+1, uint64(time.Now().Unix())))
	if err != nil {
		return nil, err
	}
	c.mu.RLock()
	queues := c.pool.queues(d.state)
	c.mu.RUnlock()
	d.fill(ctx, queues)
	return d, nil
}

// finish puts a draft on the chain.
func (c *Chain) finish(ctx context.Context, d *draft) (*types.Header, error) {
	b, err := d.seal(ctx)
	if err == nil {
		err = c.add(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStuck, err)
	}
	return b.Header(), nil
}

// Now is the time of the newest block.
func (c *Chain) Now() time.Time { return time.Unix(int64(c.newest().Time()), 0).UTC() }

// AdvanceTime makes an empty block later by d, of at least a second; blocks after
// it are later too. Transactions that wait are put into a block before it.
func (c *Chain) AdvanceTime(d time.Duration) error {
	if d < time.Second {
		return fmt.Errorf("devchain: advance by %s, at least a second", d)
	}
	c.making.Lock()
	defer c.making.Unlock()
	ctx := context.Background()
	for made := true; made; {
		var err error
		if made, err = c.commitNext(ctx); err != nil {
			return err
		}
	}
	head := c.newest().Header()
	empty, err := c.draftOn(ctx, head, head.Time+uint64(d/time.Second))
	if err != nil {
		return fmt.Errorf("devchain: advance time: %w", err)
	}
	defer empty.discard()
	if _, err := c.finish(ctx, empty); err != nil {
		return fmt.Errorf("devchain: advance time: %w", err)
	}
	c.advanced += d.Truncate(time.Second)
	return nil
}

// waiting reports whether any transaction waits for a block.
func (c *Chain) waiting() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.pool.byHash) > 0
}

// Reorg takes the newest blocks back and makes one more than that instead. The
// transactions of the old blocks, and those that waited, land in the first of the new
// blocks, or are forgotten if drop is set.
func (c *Chain) Reorg(ctx context.Context, depth int, drop bool) error {
	c.making.Lock()
	defer c.making.Unlock()
	if err := c.takeBack(depth, drop); err != nil {
		return err
	}
	for range depth + 1 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("devchain: reorganize: %w", err)
		}
		if _, err := c.commit(); err != nil {
			return err
		}
	}
	return nil
}

// Hold keeps blocks from being made until release is called, which must be before
// Close.
func (c *Chain) Hold() (release func()) {
	c.making.Lock()
	return sync.OnceFunc(c.making.Unlock)
}

// Forget drops the transactions that wait, as a network does that loses them.
func (c *Chain) Forget() {
	c.making.Lock()
	defer c.making.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool = newPool()
}
