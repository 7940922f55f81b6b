package relayer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// WatchedDepth is the depth up to which final transactions are watched for
// reorganizations.
const WatchedDepth = 64

// landing is the record of a final slot.
type landing struct {
	Block uint64 `json:"block"`
}

// checkpoint is the newest block of the round before. While it is on the chain, all
// transactions that were final still are.
type checkpoint struct {
	number uint64
	hash   common.Hash
}

// storeLanded moves final slots from the open ones to the landed ones.
func (r *Relayer) storeLanded(ctx context.Context, landed map[uint64]landing) error {
	if len(landed) == 0 {
		return nil
	}
	err := r.config.Store.Update(ctx, func(tx records.Tx) error {
		for nonce, l := range landed {
			if err := errors.Join(tx.Delete(kindOpenSlot, slotKey(nonce)), records.Put(tx, kindLandedSlot, slotKey(nonce), l)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store final transactions: %w", err)
	}
	return nil
}

// tendLanded opens final slots again that a reorganization has undone, and stops
// watching those that are too deep for one.
func (r *Relayer) tendLanded(ctx context.Context, now chainHead) error {
	r.landing.Lock()
	defer r.landing.Unlock()
	at := checkpoint{now.number, now.header.Hash()}
	if at == r.checkpoint {
		return nil
	}
	same, err := r.onChain(ctx, r.checkpoint)
	if err != nil {
		return err
	}
	if !same {
		if err := r.examineLanded(ctx, now); err != nil {
			return err
		}
	}
	if err := r.forgetDeep(ctx, now); err != nil {
		return err
	}
	r.checkpoint = at
	return nil
}

// onChain reports whether a block is on the chain.
func (r *Relayer) onChain(ctx context.Context, c checkpoint) (bool, error) {
	if c.hash == (common.Hash{}) {
		return false, nil
	}
	header, err := r.config.Chain.Header(ctx, c.number)
	if errors.Is(err, ethereum.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return header.Hash() == c.hash, nil
}

// examineLanded reads the receipts of all final slots again.
func (r *Relayer) examineLanded(ctx context.Context, now chainHead) error {
	for after := ""; ; {
		slots, err := r.slots(ctx, kindLandedSlot, after)
		if err != nil || len(slots) == 0 {
			return err
		}
		receipts, err := r.receipts(ctx, slots)
		if err != nil {
			return err
		}
		moved := map[uint64]landing{}
		for _, s := range slots {
			receipt := receipts[s.Nonce]
			if receipt == nil || !now.isFinal(receipt) {
				if err := r.reopen(ctx, s); err != nil {
					return err
				}
				continue
			}
			if err := r.judge(ctx, s, receipt); err != nil {
				return err
			}
			moved[s.Nonce] = landing{Block: receipt.BlockNumber.Uint64()}
		}
		if err := r.storeLanded(ctx, moved); err != nil {
			return err
		}
		after = slotKey(slots[len(slots)-1].Nonce)
	}
}

// forgetDeep stops watching the final slots that are deeper than [WatchedDepth]. It
// asks the node nothing.
func (r *Relayer) forgetDeep(ctx context.Context, now chainHead) error {
	landed, err := records.List(ctx, r.config.Store, kindLandedSlot, "", page)
	if err != nil {
		return fmt.Errorf("list final transactions: %w", err)
	}
	var deep []string
	for _, one := range landed {
		l, err := records.Decode[landing](kindLandedSlot, one)
		if err != nil {
			return err
		}
		if l.Block+WatchedDepth <= now.number {
			deep = append(deep, one.Key)
		}
	}
	if len(deep) == 0 {
		return nil
	}
	err = r.config.Store.Update(ctx, func(tx records.Tx) error {
		for _, key := range deep {
			if err := tx.Delete(kindLandedSlot, key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget final transactions: %w", err)
	}
	failpoint.Hit(failpoint.Buried)
	return nil
}

// conclude handles a transaction that has become final: it compares it with the
// recorded outcome and counts what it cost.
func (r *Relayer) conclude(ctx context.Context, s Slot, receipt *types.Receipt) error {
	if err := r.judge(ctx, s, receipt); err != nil {
		return err
	}
	if task, key := r.task(s.Task); task.Ended != nil {
		if err := task.Ended(ctx, key, receipt); err != nil {
			return err
		}
	}
	r.gauges.spend(receipt)
	if receipt.Status != types.ReceiptStatusSuccessful {
		r.gauges.reverted.Add(1)
		r.config.Logger.WarnContext(ctx, "a transaction of the relayer reverted", slog.String("hash", receipt.TxHash.Hex()),
			slog.String("task", s.Task), slog.Uint64("gasUsed", receipt.GasUsed))
	}
	return nil
}

// judge compares a final transaction with the recorded outcome. The receipt is nil if
// none of the slot's transactions can land any more.
func (r *Relayer) judge(ctx context.Context, s Slot, receipt *types.Receipt) error {
	task, key := r.task(s.Task)
	if task.Judge == nil {
		return nil
	}
	return task.Judge(ctx, key, receipt)
}
