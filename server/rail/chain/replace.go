package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
)

// maxBroadcasts is how often a slot is replaced at most. Each offers an eighth more.
const maxBroadcasts = 64

// cancelGas is what a transfer of nothing uses.
const cancelGas = 21_000

// tendWaiting sends a slot again that the node does not know, cancels one whose work
// can no longer succeed, and replaces one that has waited long.
func (r *Rail) tendWaiting(ctx context.Context, now outlook, s slot, known bool) error {
	dead := false
	if !s.last().Cancel {
		var err error
		if dead, err = r.dead(ctx, s, now); err != nil {
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

// push is what somebody who waits for a slot does for it.
func (r *Rail) push(ctx context.Context, s slot) error {
	_, _, err := r.config.RPC.TransactionByHash(ctx, s.last().Hash)
	if errors.Is(err, ethereum.NotFound) {
		failpoint.Hit(failpoint.Forgotten)
		r.send(ctx, s.last())
	} else if err != nil {
		return fmt.Errorf("look for transaction: %w", err)
	}
	return r.bump(ctx, s)
}

// bump replaces a slot that has waited for Config.BumpAfter.
func (r *Rail) bump(ctx context.Context, s slot) error {
	if r.config.Clock().Sub(s.last().At) < r.config.BumpAfter {
		return nil
	}
	return r.replace(ctx, s, s.last().Cancel)
}

// dead reports whether a slot's work would fail in every later block: an
// authorization or a charge whose time is over.
func (r *Rail) dead(ctx context.Context, s slot, now outlook) (bool, error) {
	if key, ok := strings.CutPrefix(s.Task, authorizationPrefix); ok {
		record, found, err := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
		if err != nil || !found {
			return false, err
		}
		before, ok := new(big.Int).SetString(record.Authorization.ValidBefore, 10)
		return ok && before.Cmp(new(big.Int).SetUint64(now.header.Time)) <= 0, nil
	}
	if key, ok := strings.CutPrefix(s.Task, chargePrefix); ok {
		record, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
		if err != nil || !found {
			return false, err
		}
		return record.Charge.Deadline <= now.header.Time || (record.Outcome != nil && record.Outcome.Status == rail.Refused), nil
	}
	return false, nil
}

// replace stores and sends a transaction of the same nonce with higher fees, or one
// that does nothing.
func (r *Rail) replace(ctx context.Context, s slot, cancel bool) error {
	offer, ok, err := r.outbid(ctx, s)
	if err != nil {
		return err
	}
	if !ok || len(s.Broadcasts) >= maxBroadcasts {
		r.send(ctx, s.last()) // it may have been forgotten
		if r.alarms.due("highest fee", r.config.Clock()) {
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
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		stored = false
		now, found, err := read[slot](tx, kindSlot, slotKey(s.Nonce))
		if err != nil || !found || len(now.Broadcasts) != len(s.Broadcasts) {
			return err // another instance replaced it
		}
		now.Broadcasts = append(now.Broadcasts, signed)
		stored = true
		return write(tx, kindSlot, slotKey(s.Nonce), now)
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

// outbid offers more than a slot's newest broadcast, and at most Config.MaxFeeWei;
// false if that is not enough for nodes to take a replacement.
func (r *Rail) outbid(ctx context.Context, s slot) (fees, bool, error) {
	offer, err := r.suggest(ctx)
	if err != nil {
		return fees{}, false, err
	}
	least := higher(new(big.Int), s.last().FeeCap)
	if least.Cmp(r.config.MaxFeeWei) > 0 {
		return fees{}, false, nil
	}
	offer = fees{tip: higher(offer.tip, s.last().TipCap), cap: higher(offer.cap, s.last().FeeCap)}.within(r.config.MaxFeeWei)
	return offer, offer.tip.Cmp(higher(new(big.Int), s.last().TipCap)) >= 0, nil
}

// canceled reports whether a transaction of a slot does nothing.
func (s slot) canceled(hash common.Hash) bool {
	for _, b := range s.Broadcasts {
		if b.Hash == hash {
			return b.Cancel
		}
	}
	return false
}

// higher is what is suggested, but at least an eighth more than before: nodes take
// no replacement for less than a tenth.
func higher(suggested, before *big.Int) *big.Int {
	least := new(big.Int).Rsh(before, 3)
	least.Add(least, before).Add(least, common.Big1)
	if suggested.Cmp(least) > 0 {
		return suggested
	}
	return least
}
