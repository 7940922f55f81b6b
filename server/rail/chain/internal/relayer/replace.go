package relayer

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

const (
	// maxBroadcasts bounds the transactions of a slot. Each offers an eighth more.
	maxBroadcasts = 64
	// cancelGas is what a transfer of nothing uses.
	cancelGas = 21_000
)

// tendWaiting keeps a slot going that is in no block: it sends the transaction again
// if the node does not know it, cancels it if its work can no longer succeed, and
// replaces it if it has waited long.
func (r *Relayer) tendWaiting(ctx context.Context, now chainHead, s Slot, known bool) error {
	dead := false
	if task, key := r.task(s.Task); !s.last().Cancel && task.Dead != nil {
		var err error
		if dead, err = task.Dead(ctx, key, now.header); err != nil {
			return err
		}
	}
	if !known && !dead {
		failpoint.Hit(failpoint.Forgotten)
		r.send(ctx, s.last())
	}
	if dead {
		return r.replace(ctx, s, true)
	}
	return r.bump(ctx, s)
}

// Rebroadcast sends a slot's newest transaction again if the node does not know it,
// and replaces it if it has waited long. A caller that waits for the slot calls it.
func (r *Relayer) Rebroadcast(ctx context.Context, s Slot) error {
	known, err := r.config.Chain.Knows(ctx, s.last().Hash)
	if err != nil {
		return err
	}
	if !known {
		failpoint.Hit(failpoint.Forgotten)
		r.send(ctx, s.last())
	}
	return r.bump(ctx, s)
}

// bump replaces a slot's transaction that has waited for Config.BumpAfter.
func (r *Relayer) bump(ctx context.Context, s Slot) error {
	if r.config.Clock().Sub(s.last().At) < r.config.BumpAfter {
		return nil
	}
	return r.replace(ctx, s, s.last().Cancel)
}

// replace stores and sends a transaction of the same nonce with higher fees, or one
// that only uses the nonce.
func (r *Relayer) replace(ctx context.Context, s Slot, cancel bool) error {
	offer, ok, err := r.outbid(ctx, s)
	if err != nil {
		return err
	}
	if !ok || len(s.Broadcasts) >= maxBroadcasts {
		r.send(ctx, s.last()) // the node may have forgotten it
		if r.alarms.Due("highest fee", r.config.Clock()) {
			r.config.Logger.ErrorContext(ctx, "transaction waits and cannot be replaced at a higher fee",
				slog.Uint64("nonce", s.Nonce), slog.Int("broadcasts", len(s.Broadcasts)), slog.String("feeCapWei", s.last().FeeCap.String()))
		}
		return nil
	}
	signed, err := r.sign(s, offer, cancel)
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.ReplacementSigned)
	stored := false
	err = r.config.Store.Update(ctx, func(tx records.Tx) error {
		stored = false
		now, found, err := records.Get[Slot](tx, kindSlot, slotKey(s.Nonce))
		if err != nil || !found || len(now.Broadcasts) != len(s.Broadcasts) {
			return err // another instance replaced it
		}
		now.Broadcasts = append(now.Broadcasts, signed)
		stored = true
		return records.Put(tx, kindSlot, slotKey(s.Nonce), now)
	})
	if err != nil {
		return fmt.Errorf("store replacement: %w", err)
	}
	if stored {
		failpoint.Hit(failpoint.ReplacementStored)
		r.config.Logger.InfoContext(ctx, "transaction replaced", slog.Uint64("nonce", s.Nonce),
			slog.String("hash", signed.Hash.Hex()), slog.Bool("canceled", cancel))
		r.send(ctx, signed)
		failpoint.Hit(failpoint.ReplacementSent)
	}
	return nil
}
