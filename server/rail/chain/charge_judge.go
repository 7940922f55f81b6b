package chain

import (
	"context"
	"log/slog"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// chargeDead implements [relayer.Task] for charges: a charge cannot succeed after its
// deadline or its refusal.
func (r *Rail) chargeDead(ctx context.Context, key string, head *types.Header) (bool, error) {
	record, found, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || !found {
		return false, err
	}
	return record.Charge.Deadline <= head.Time || (record.Outcome != nil && record.Outcome.Status == rail.Refused), nil
}

// judgeCharge implements [relayer.Task] for charges. A reorganization deeper than
// Config.Confirmations can contradict an outcome: money that moved after a refusal, or
// money that is back with the payer after a success.
func (r *Rail) judgeCharge(ctx context.Context, key string, receipt *types.Receipt) error {
	record, found, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || !found || record.Outcome == nil {
		return err
	}
	moved := receipt != nil && receipt.Status == types.ReceiptStatusSuccessful && r.movedCharge(record, logsOf(receipt))
	switch {
	case record.Outcome.Status == rail.Refused && moved:
		r.config.Logger.ErrorContext(ctx, "a refused charge has moved money",
			slog.String("hash", receipt.TxHash.Hex()), slog.String("grant", record.Charge.GrantID.Hex()))
	case record.Outcome.Status == rail.Succeeded && !moved && !record.Undone:
		if _, _, elsewhere, err := r.findCharge(ctx, record, 0); err != nil || elsewhere {
			return err
		}
		return r.undoCharge(ctx, key, Undone{
			Reference: record.Reference, TxHash: record.Outcome.TxHash, Payer: record.Owner, Payee: record.Charge.Payee,
			Amount: rail.Micros(record.Charge.Amount),
		})
	}
	return nil
}

// undoCharge marks a charge as undone. It changes nothing else of the record.
func (r *Rail) undoCharge(ctx context.Context, key string, u Undone) error {
	return r.undo(ctx, chargePrefix+key, u, func(tx Tx) (marked bool, err error) {
		now, found, err := records.Get[chargeRecord](tx, kindCharge, key)
		if err != nil || !found || now.Undone || now.Outcome == nil || now.Outcome.TxHash != u.TxHash {
			return false, err
		}
		now.Undone = true
		return true, records.Put(tx, kindCharge, key, now)
	})
}
