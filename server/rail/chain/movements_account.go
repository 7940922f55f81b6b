package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
)

// accountsMoved lists what left the session accounts since a block: what sellers took, and
// the sweeps.
func (r *Rail) accountsMoved(ctx context.Context, first, final uint64, yield func(rail.Movement) error) error {
	err := eachRecord(ctx, r.config.Store, kindPurchase, func(page []purchaseRecord) error {
		for _, one := range page {
			if one.Signed == nil || one.Outcome == nil || one.Outcome.Status != rail.Succeeded {
				continue
			}
			t, err := one.transfer()
			if err != nil {
				return err
			}
			m := rail.Movement{Key: r.MovementKey(rail.PurchaseMovement, one.Reference), Reference: one.Reference}
			if err := r.accountMoved(ctx, t, one.Since, one.Outcome.TxHash, first, final, m, yield); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return eachRecord(ctx, r.config.Store, kindSweep, func(page []sweepRecord) error {
		for _, one := range page {
			if one.Outcome == nil || one.Outcome.Status != rail.Succeeded {
				continue
			}
			t, err := one.transfer()
			if err != nil {
				return err
			}
			m := rail.Movement{Key: r.MovementKey(rail.SweepMovement, one.Reference), Reference: one.Reference}
			if err := r.accountMoved(ctx, t, one.Since, one.Outcome.TxHash, first, final, m, yield); err != nil {
				return err
			}
		}
		return nil
	})
}

// accountMoved lists one transfer that was signed when since was the newest block.
func (r *Rail) accountMoved(
	ctx context.Context, t signedTransfer, since uint64, hash string, first, final uint64, m rail.Movement, yield func(rail.Movement) error,
) error {
	if life := uint64(longestWindow/time.Second) + watchBack; since+life < first { // more than its blocks
		return nil
	}
	receipt, err := r.chain.Receipt(ctx, common.HexToHash(hash))
	if err != nil {
		return fmt.Errorf("read receipt of %s: %w", m.Reference, err)
	}
	return r.transferMoved(t, receipt, final, m, yield)
}
