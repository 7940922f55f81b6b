package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
)

// landing is where a slot's transaction became final.
type landing struct {
	Block uint64 `json:"block"`
}

// checkpoint is the newest block of the round before. While it stays on the chain,
// all that was final stays so. tend alone uses it.
type checkpoint struct {
	number uint64
	hash   common.Hash
}

// land keeps final slots apart from the open ones.
func (r *Rail) land(ctx context.Context, landed map[uint64]landing) error {
	if len(landed) == 0 {
		return nil
	}
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		for nonce, l := range landed {
			if err := errors.Join(tx.Delete(kindOpenSlot, slotKey(nonce)), write(tx, kindLandedSlot, slotKey(nonce), l)); err != nil {
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

// tendLanded opens final slots again that a reorganization has undone, and buries
// those that lie so deep that none can.
func (r *Rail) tendLanded(ctx context.Context, now outlook) error {
	r.tending.Lock()
	defer r.tending.Unlock()
	at := checkpoint{now.head, now.header.Hash()}
	if at == r.checkpoint {
		return nil
	}
	same, err := r.stands(ctx, r.checkpoint)
	if err != nil {
		return err
	}
	if !same {
		if err := r.examineLanded(ctx, now); err != nil {
			return err
		}
	}
	if err := r.bury(ctx, now); err != nil {
		return err
	}
	r.checkpoint = at
	return nil
}

// stands reports whether a block is on the chain.
func (r *Rail) stands(ctx context.Context, c checkpoint) (bool, error) {
	if c.hash == (common.Hash{}) {
		return false, nil
	}
	header, err := r.config.RPC.HeaderByNumber(ctx, new(big.Int).SetUint64(c.number))
	if errors.Is(err, ethereum.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read block %d: %w", c.number, err)
	}
	return header.Hash() == c.hash, nil
}

// examineLanded asks for the receipts of all final slots anew.
func (r *Rail) examineLanded(ctx context.Context, now outlook) error {
	for after := ""; ; {
		slots, err := r.slotsOf(ctx, kindLandedSlot, after)
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
			if receipt == nil || !now.final || receipt.BlockNumber.Uint64() > now.deep {
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
		if err := r.land(ctx, moved); err != nil {
			return err
		}
		after = slotKey(slots[len(slots)-1].Nonce)
	}
}

// bury forgets the final slots that lie deep, without asking for each.
func (r *Rail) bury(ctx context.Context, now outlook) error {
	var landed []Record
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		landed, err = tx.List(kindLandedSlot, "", tended)
		return err
	})
	if err != nil {
		return fmt.Errorf("list final transactions: %w", err)
	}
	var deep []string
	for _, one := range landed {
		var l landing
		if err := json.Unmarshal(one.Value, &l); err != nil {
			return fmt.Errorf("%s %s: %w: %w", kindLandedSlot, one.Key, errRecord, err)
		}
		if l.Block+watchedDepth <= now.head {
			deep = append(deep, one.Key)
		}
	}
	if len(deep) == 0 {
		return nil
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		for _, key := range deep {
			if err := tx.Delete(kindLandedSlot, key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bury transactions: %w", err)
	}
	failpoint.Hit(failpoint.Buried)
	return nil
}

// conclude counts what a final transaction cost, and compares it with what was
// answered.
func (r *Rail) conclude(ctx context.Context, s slot, receipt *types.Receipt) error {
	if err := r.judge(ctx, s, receipt); err != nil {
		return err
	}
	reverted := receipt.Status != types.ReceiptStatusSuccessful
	if strings.HasPrefix(s.Task, deployPrefix) {
		r.budget.ended(s.Task, reverted)
	}
	if key, ok := strings.CutPrefix(s.Task, authorizationPrefix); ok && reverted {
		elsewhere, err := r.movedElsewhere(ctx, key)
		if err != nil {
			return err
		}
		r.budget.ended(s.Task, !elsewhere)
	}
	r.figures.spent(receipt)
	if reverted {
		r.figures.reverted.Add(1)
		r.config.Logger.WarnContext(ctx, "a transaction of the relayer reverted", slog.String("hash", receipt.TxHash.Hex()),
			slog.String("task", s.Task), slog.Uint64("gasUsed", receipt.GasUsed))
	}
	return nil
}

// movedElsewhere reports whether a transaction that is not ours made a signed transfer.
// Anybody can bring the signature first, so the payer is not to blame if ours reverts.
func (r *Rail) movedElsewhere(ctx context.Context, key string) (bool, error) {
	record, found, err := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found {
		return false, err
	}
	t, err := record.transfer()
	if err != nil {
		return false, err
	}
	_, err = r.findOrder(ctx, t, record.Since)
	var no *refusedError
	if errors.As(err, &no) {
		return no.reason == x402.ReasonPending, nil // if pending, it is in a block that is not final
	}
	return err == nil, err
}

// judge raises the alarm if a final transaction contradicts what was answered,
// because the chain was reorganized deeper than Config.Confirmations: money that moved
// after a refusal, or that is back with the payer after a success. The receipt is nil
// if none of the slot's transactions can land any more.
func (r *Rail) judge(ctx context.Context, s slot, receipt *types.Receipt) error {
	if key, ok := strings.CutPrefix(s.Task, chargePrefix); ok {
		return r.judgeCharge(ctx, key, receipt)
	}
	if key, ok := strings.CutPrefix(s.Task, authorizationPrefix); ok {
		return r.judgeOrder(ctx, key, receipt)
	}
	return nil
}

func (r *Rail) judgeCharge(ctx context.Context, key string, receipt *types.Receipt) error {
	record, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || !found || record.Outcome == nil {
		return err
	}
	moved := receipt != nil && receipt.Status == types.ReceiptStatusSuccessful && r.moved(record, logsOf(receipt))
	switch {
	case record.Outcome.Status == rail.Refused && moved:
		r.config.Logger.ErrorContext(ctx, "a refused charge has moved money",
			slog.String("hash", receipt.TxHash.Hex()), slog.String("grant", record.Charge.GrantID.Hex()))
	case record.Outcome.Status == rail.Succeeded && !moved && !record.Undone:
		if _, _, elsewhere, err := r.findCharged(ctx, record, 0); err != nil || elsewhere {
			return err
		}
		return r.undoCharge(ctx, key, Undone{
			Reference: record.Reference, TxHash: record.Outcome.TxHash, Payer: record.Owner, Payee: record.Charge.Payee,
			Amount: rail.Micros(record.Charge.Amount),
		})
	}
	return nil
}

func (r *Rail) judgeOrder(ctx context.Context, key string, receipt *types.Receipt) error {
	record, found, err := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found || record.Settled == (common.Hash{}) || record.Undone {
		return err
	}
	t, err := record.transfer()
	if err != nil || (receipt != nil && r.movedOrder(receipt, t)) {
		return err
	}
	_, err = r.findOrder(ctx, t, record.Since)
	var no *refusedError
	switch {
	case !errors.As(err, &no):
		return err // it moved by another transaction, or the node does not answer
	case no.reason == x402.ReasonPending:
		return nil // by one that is not final yet
	}
	return r.undoOrder(ctx, key, Undone{
		TxHash: record.Settled.Hex(), Payer: t.From, Payee: t.To, Amount: rail.Micros(t.Value.Big().Int64()),
	})
}
