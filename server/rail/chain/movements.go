package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

var _ rail.Mover = (*Rail)(nil)

// MovementKey implements [rail.Mover]. The router's events name a charge by the hash of its
// reference.
func (r *Rail) MovementKey(kind rail.MovementKind, reference string) string {
	if kind == rail.ChargeMovement {
		reference, _ = keyOf(reference)
	}
	return string(kind) + "/" + reference
}

// Movements implements [rail.Mover]. It reads the router's events in ranges of blocks, so it
// lists every charge of this router, of any sender. A signed transfer is listed if a ledger
// has recorded it, and a refund if its payee was asked to sign it: both once a final block
// has the transfer of exactly this amount.
func (r *Rail) Movements(ctx context.Context, since time.Time, yield func(rail.Movement) error) error {
	head, err := r.chain.Head(ctx)
	if err != nil {
		return err
	}
	final, ok := r.chain.Final(head)
	if !ok {
		return nil
	}
	first, err := r.blockAt(ctx, since, final)
	if err != nil {
		return fmt.Errorf("find first block of movements: %w", err)
	}
	for next := first; next <= final; next += watchSpan {
		if err := r.chargesMoved(ctx, next, min(next+watchSpan-1, final), yield); err != nil {
			return err
		}
	}
	// A transfer lands after the newest block of its record, if soon.
	if err := r.transfersMoved(ctx, first-min(first, watchBack), final, yield); err != nil {
		return err
	}
	if err := r.refundsMoved(ctx, first, final, yield); err != nil {
		return err
	}
	return r.accountsMoved(ctx, first, final, yield)
}

// blockAt returns the first block since a time, or the one after last.
func (r *Rail) blockAt(ctx context.Context, since time.Time, last uint64) (uint64, error) {
	low, high := r.config.FromBlock, last+1
	if since.IsZero() {
		return low, nil
	}
	for low < high {
		middle := low + (high-low)/2
		at, err := r.chain.TimeOf(ctx, middle)
		switch {
		case err != nil:
			return 0, err
		case at.Before(since):
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, nil
}

// chargesMoved lists the charges of a range of blocks.
func (r *Rail) chargesMoved(ctx context.Context, first, last uint64, yield func(rail.Movement) error) error {
	events, err := contracts.MandateRouterMetaData.ParseABI()
	if err != nil {
		return fmt.Errorf("read ABI: %w", err)
	}
	logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(last),
		Addresses: []common.Address{r.config.Router}, Topics: [][]common.Hash{{events.Events["Charged"].ID}},
	})
	if err != nil {
		return fmt.Errorf("read charges of blocks %d to %d: %w", first, last, err)
	}
	for _, l := range logs {
		e, err := r.router.UnpackChargedEvent(&l)
		if err != nil {
			return fmt.Errorf("read charge of transaction %s: %w", l.TxHash, err)
		}
		if l.Removed {
			continue
		}
		key := common.Hash(e.Ref).Hex()[2:]
		record, _, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
		if err != nil {
			return err
		}
		err = yield(rail.Movement{
			Key: string(rail.ChargeMovement) + "/" + key, Reference: record.Reference, Amount: rail.Micros(e.Amount.Int64()), ID: l.TxHash.Hex(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// transfersMoved lists the signed transfers of a ledger whose records are since a block.
func (r *Rail) transfersMoved(ctx context.Context, first, final uint64, yield func(rail.Movement) error) error {
	return eachRecord(ctx, r.config.Store, kindAuthorization, func(page []authorizationRecord) error {
		page = slices.DeleteFunc(page, func(one authorizationRecord) bool {
			return one.Charge == "" || one.Since < first || one.Undone || one.Settled == common.Hash{}
		})
		var hashes []common.Hash
		for _, one := range page {
			hashes = append(hashes, one.Settled)
		}
		receipts, err := r.chain.Receipts(ctx, hashes)
		if err != nil {
			return fmt.Errorf("read receipts of transfers: %w", err)
		}
		for _, one := range page {
			t, err := one.transfer()
			if err != nil {
				return err
			}
			key := r.MovementKey(rail.TransferMovement, one.Charge)
			if err := r.transferMoved(t, receipts[one.Settled], final, rail.Movement{Key: key, Reference: one.Charge}, yield); err != nil {
				return err
			}
		}
		return nil
	})
}

// transferMoved lists a transfer if its transaction made it in a final block.
func (r *Rail) transferMoved(t signedTransfer, receipt *types.Receipt, final uint64, m rail.Movement, yield func(rail.Movement) error) error {
	if receipt == nil || receipt.BlockNumber.Uint64() > final || !r.madeTransfer(receipt, t) {
		return nil
	}
	m.Amount, m.ID = rail.Micros(t.Value.Big().Int64()), receipt.TxHash.Hex()
	return yield(m)
}

// refundsMoved lists the refunds whose authorizations were used since a block, by the relayer
// or by any other sender.
func (r *Rail) refundsMoved(ctx context.Context, first, final uint64, yield func(rail.Movement) error) error {
	life := uint64(refundLifetime/time.Second) + watchBack // more than its blocks
	return eachRecord(ctx, r.config.Store, kindRefund, func(page []refundRecord) error {
		for _, one := range page {
			if one.Authorization.From == "" || one.Since+life < first {
				continue
			}
			t, err := one.transfer()
			if err != nil {
				return err
			}
			hash, err := r.refundHash(ctx, one, t)
			if err != nil {
				return err
			}
			if hash == (common.Hash{}) {
				continue
			}
			receipt, err := r.chain.Receipt(ctx, hash)
			if err != nil {
				return fmt.Errorf("read receipt of refund: %w", err)
			}
			m := rail.Movement{Key: r.MovementKey(rail.RefundMovement, one.Reference), Reference: one.Reference}
			if err := r.transferMoved(t, receipt, final, m, yield); err != nil {
				return err
			}
		}
		return nil
	})
}

// refundHash returns the transaction that made the transfer of a refund, or zero.
func (r *Rail) refundHash(ctx context.Context, one refundRecord, t signedTransfer) (common.Hash, error) {
	if one.Outcome != nil {
		return common.HexToHash(one.Outcome.TxHash), nil
	}
	used, err := r.isUsed(ctx, t)
	if err != nil || !used {
		return common.Hash{}, err
	}
	hash, err := r.findTransfer(ctx, t, one.Since)
	var no *refusedError
	if errors.As(err, &no) {
		return common.Hash{}, nil
	}
	return hash, err
}

// eachRecord calls each with every page of a kind's records.
func eachRecord[T any](ctx context.Context, store Store, kind string, each func([]T) error) error {
	for after := ""; ; {
		list, err := records.List(ctx, store, kind, after, page)
		if err != nil {
			return fmt.Errorf("list %s: %w", kind, err)
		}
		all := make([]T, len(list))
		for i, one := range list {
			if all[i], err = records.Decode[T](kind, one); err != nil {
				return err
			}
			after = one.Key
		}
		if err := each(all); err != nil {
			return err
		}
		if len(list) < page {
			return nil
		}
	}
}
