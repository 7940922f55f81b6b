package devchain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// ErrStuck tells that no block could be made.
var ErrStuck = errors.New("devchain: no block was made")

// drain takes the pool's events at once, until Close. The pool sends them while it
// holds up whoever asks it to catch up, so a full channel would stop both for good.
func (c *Chain) drain() {
	for {
		select {
		case <-c.closing:
			return
		case <-c.arrivals:
		}
		select {
		case c.arrived <- struct{}{}:
		default:
		}
	}
}

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

// waiting tells whether a transaction could go into a block now. The pool forgets
// what is in the newest block a moment late, so it is asked to catch up first; it
// answers one who asks that at a time, so the caller holds making.
func (c *Chain) waiting() bool {
	if err := c.ethereum.TxPool().Sync(); err != nil {
		return false // it is closed
	}
	pending, _ := c.ethereum.TxPool().Stats()
	return pending > 0
}

// paced waits while the chain's clock is too far ahead; false when it was closed.
func (c *Chain) paced() bool {
	c.making.Lock()
	head := time.Unix(int64(c.ethereum.BlockChain().CurrentBlock().Time), 0)
	wait := time.Until(head.Add(-c.advanced - c.maxLead))
	c.making.Unlock()
	timer := time.NewTimer(max(wait, time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closing:
		return false
	}
}

// commitWaiting makes a block if a transaction waits, and tells whether one
// did: there may be more then.
func (c *Chain) commitWaiting() bool {
	c.making.Lock()
	defer c.making.Unlock()
	if !c.waiting() {
		return false
	}
	_, _ = c.commit() // where none was made, the next round tries again
	return true
}

// Commit makes a block of the transactions that wait, or an empty one, and
// returns its header. [ErrStuck] where none could be made.
func (c *Chain) Commit() (*types.Header, error) {
	c.making.Lock()
	defer c.making.Unlock()
	return c.commit()
}

// commit makes a block. The pool is asked to catch up first, so that nothing it was
// given is left out.
func (c *Chain) commit() (*types.Header, error) {
	c.waiting()
	before := c.ethereum.BlockChain().CurrentBlock().Hash()
	c.beacon.Commit()
	head := c.ethereum.BlockChain().CurrentBlock()
	if head.Hash() == before {
		return nil, ErrStuck
	}
	return head, nil
}

// Now is the time of the newest block.
func (c *Chain) Now() time.Time {
	return time.Unix(int64(c.ethereum.BlockChain().CurrentBlock().Time), 0).UTC()
}

// AdvanceTime makes an empty block later by d, of at least a second; blocks after
// it are later too. Transactions that wait are put into a block before it.
func (c *Chain) AdvanceTime(d time.Duration) error {
	if d < time.Second {
		return fmt.Errorf("devchain: advance by %s, at least a second", d)
	}
	c.making.Lock()
	defer c.making.Unlock()
	for c.waiting() {
		if _, err := c.commit(); err != nil {
			return err
		}
	}
	if err := c.beacon.AdjustTime(d); err != nil {
		return fmt.Errorf("devchain: advance time: %w", err)
	}
	c.advanced += d
	return nil
}

// Reorg takes the newest blocks back and makes one more than that in their place.
// The transactions of the old blocks wait again and land in the new ones, or are
// forgotten where drop says so, as is everything that waited.
func (c *Chain) Reorg(ctx context.Context, depth int, drop bool) error {
	c.making.Lock()
	defer c.making.Unlock()
	head := c.ethereum.BlockChain().CurrentBlock().Number.Uint64()
	if depth < 1 || uint64(depth) >= head { // the first block deploys the router
		return fmt.Errorf("devchain: take back %d blocks of %d", depth, head)
	}
	for c.waiting() { // the fork must not start with transactions at the door
		if _, err := c.commit(); err != nil {
			return err
		}
		depth++
	}
	head = c.ethereum.BlockChain().CurrentBlock().Number.Uint64()
	if err := c.beacon.Fork(c.ethereum.BlockChain().GetCanonicalHash(head - uint64(depth))); err != nil {
		return fmt.Errorf("devchain: fork: %w", err)
	}
	if err := c.ethereum.TxPool().Sync(); err != nil {
		return fmt.Errorf("devchain: wait for the pool: %w", err)
	}
	if drop {
		c.ethereum.TxPool().Clear()
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

// HashAt is the hash of the block of a number, zero where there is none.
func (c *Chain) HashAt(number uint64) common.Hash {
	return c.ethereum.BlockChain().GetCanonicalHash(number)
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
	c.ethereum.TxPool().Clear()
}
