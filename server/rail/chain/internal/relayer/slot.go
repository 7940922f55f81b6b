package relayer

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// Kinds of the relayer's records. The chain package has others.
const (
	kindSlot       = "slot"   // key: the nonce, with leading zeros
	kindOpenSlot   = "open"   // key: the nonce of a slot that is not final
	kindLandedSlot = "landed" // key: the nonce of a final slot that a reorganization could still undo
	kindTask       = "task"   // key: the task's name; the nonce of its slot
	kindCursor     = "cursor"

	cursorNonce = "nonce" // key of kindCursor: the next nonce to assign
)

// Slot is a nonce of the relayer with all transactions that were sent under it. At
// most one of them can land.
type Slot struct {
	Nonce      uint64         `json:"nonce"`
	Task       string         `json:"task"`
	To         common.Address `json:"to"`
	Data       hexutil.Bytes  `json:"data"`
	Gas        uint64         `json:"gas"`
	Broadcasts []Broadcast    `json:"broadcasts"`
}

// Broadcast is a signed transaction.
type Broadcast struct {
	Hash   common.Hash   `json:"hash"`
	Raw    hexutil.Bytes `json:"raw"`
	TipCap *big.Int      `json:"tipCap"`
	FeeCap *big.Int      `json:"feeCap"`
	At     time.Time     `json:"at"`
	Cancel bool          `json:"cancel,omitempty"` // it only uses the nonce
}

func (s Slot) last() Broadcast { return s.Broadcasts[len(s.Broadcasts)-1] }

// Hash returns the hash of the newest transaction, the zero hash if there is none.
func (s Slot) Hash() (h common.Hash) {
	if len(s.Broadcasts) > 0 {
		h = s.last().Hash
	}
	return h
}

// Canceled reports whether a transaction of the slot only uses its nonce.
func (s Slot) Canceled(hash common.Hash) bool {
	for _, b := range s.Broadcasts {
		if b.Hash == hash {
			return b.Cancel
		}
	}
	return false
}

// slotKey returns a key that sorts as the nonce does.
func slotKey(nonce uint64) string { return fmt.Sprintf("%020d", nonce) }

// SlotOf returns the slot of a task, and reports whether the task has one.
func (r *Relayer) SlotOf(ctx context.Context, task string) (s Slot, found bool, err error) {
	err = r.config.Store.View(ctx, func(tx records.Tx) error {
		nonce, has, err := records.Get[uint64](tx, kindTask, task)
		if err != nil || !has {
			return err
		}
		s, found, err = records.Get[Slot](tx, kindSlot, slotKey(nonce))
		return err
	})
	if err != nil {
		return Slot{}, false, fmt.Errorf("read transaction of %s: %w", task, err)
	}
	return s, found, nil
}

// SlotState is the state of a slot on the chain.
type SlotState int

// States of a slot.
const (
	Waiting    SlotState = iota // none of its transactions is in a block
	Included                    // one is in a block that is not final
	Final                       // one is in a final block
	NonceTaken                  // a transaction from elsewhere used the nonce in a final block
)

// Examine reads the state of a slot from the chain, with the receipt if one of its
// transactions is in a block.
func (r *Relayer) Examine(ctx context.Context, s Slot) (SlotState, *types.Receipt, error) {
	// If the nonce was used before the receipts are read and none of them exists, the
	// slot did not use it. A block undone between the two reads would look the same, so
	// the nonce is read again.
	used, final, err := r.nonceUsed(ctx, s.Nonce)
	if err != nil {
		return 0, nil, err
	}
	for _, b := range slices.Backward(s.Broadcasts) {
		receipt, err := r.config.Chain.Receipt(ctx, b.Hash)
		if err != nil {
			return 0, nil, err
		}
		if receipt == nil {
			continue
		}
		if receipt.BlockNumber.Uint64() <= final {
			return Final, receipt, nil
		}
		return Included, receipt, nil
	}
	if used {
		if used, _, err = r.nonceUsed(ctx, s.Nonce); err != nil {
			return 0, nil, err
		}
	}
	if used {
		return NonceTaken, nil, nil
	}
	return Waiting, nil, nil
}

// nonceUsed reports whether a nonce is used in a final block, and returns the newest
// such block.
func (r *Relayer) nonceUsed(ctx context.Context, nonce uint64) (used bool, final uint64, err error) {
	head, err := r.config.Chain.Head(ctx)
	if err != nil {
		return false, 0, err
	}
	final, ok := r.config.Chain.Final(head)
	if !ok {
		return false, 0, nil
	}
	next, err := r.nonce(ctx, new(big.Int).SetUint64(final))
	if err != nil {
		return false, 0, err
	}
	return next > nonce, final, nil
}

// nonce returns the next nonce of the relayer's address after a block, nil for the
// newest one.
func (r *Relayer) nonce(ctx context.Context, block *big.Int) (uint64, error) {
	next, err := r.config.Node.NonceAt(ctx, r.address, block)
	if err != nil {
		return 0, fmt.Errorf("read nonce: %w", err)
	}
	return next, nil
}

// ErrNonceTaken reports that a transaction from elsewhere used a slot's nonce. The
// next call with the same task gets another nonce.
var ErrNonceTaken = errors.New("chain: the relayer's nonce was used by another program")

// Await waits until one of a slot's transactions is in a block, and returns its
// receipt, or nil if that takes longer than until; the zero time does not end. It
// returns [ErrNonceTaken] after closing a slot whose nonce is lost.
func (r *Relayer) Await(ctx context.Context, s Slot, until time.Time) (*types.Receipt, error) {
	for {
		next := r.config.Chain.NextBlock()
		state, receipt, err := r.Examine(ctx, s)
		if err != nil {
			return nil, err
		}
		switch state {
		case Final, Included:
			return receipt, nil
		case NonceTaken:
			return nil, errors.Join(r.Close(ctx, s), ErrNonceTaken)
		case Waiting:
			if err := r.Rebroadcast(ctx, s); err != nil {
				return nil, err
			}
		}
		if !until.IsZero() && !time.Now().Before(until) {
			return nil, nil //nolint:nilnil // documented
		}
		if err := eth.Pause(ctx, next, r.config.Poll); err != nil {
			return nil, err
		}
	}
}

// Close closes a slot whose nonce is lost. Its task may get another one.
func (r *Relayer) Close(ctx context.Context, s Slot) error {
	err := r.config.Store.Update(ctx, func(tx records.Tx) error {
		if err := tx.Delete(kindOpenSlot, slotKey(s.Nonce)); err != nil {
			return err
		}
		nonce, found, err := records.Get[uint64](tx, kindTask, s.Task)
		if err != nil || !found || nonce != s.Nonce {
			return err
		}
		return tx.Delete(kindTask, s.Task)
	})
	if err != nil {
		return fmt.Errorf("close transaction %d: %w", s.Nonce, err)
	}
	failpoint.Hit(failpoint.NonceLost)
	return nil
}
