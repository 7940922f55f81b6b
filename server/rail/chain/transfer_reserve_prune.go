package chain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// Permit2 is asked at most so often, and about so many permits of a payer at a time, whether
// they were canceled. The permits are picked at random.
const (
	askPermit2Every = 10 * time.Second
	maxAskedPermits = 32
)

// pruneReserved removes the reservations that have ended: the authorization is decided,
// or used as the token says, or can no longer land.
func (r *Rail) pruneReserved(ctx context.Context, payer common.Address) (reservations, error) {
	now, settlements, verified, err := r.readReserved(ctx, payer)
	if err != nil {
		return now, err
	}
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return now, err
	}
	ended, asked, err := r.endedPermits(ctx, payer, now, verified, header)
	if err != nil {
		return now, err
	}
	for key, record := range settlements {
		if ended[key], err = r.reservationEnded(ctx, record, eth.Time(header)); err != nil {
			return now, err
		}
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		kept, _, err := records.Get[reservations](tx, kindReserved, payer.Hex())
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(kept.List), func(one reservation) bool { return ended[one.Key] })
		switch {
		case len(left) < len(kept.List):
			kept.Removals++ // a balance that was read before must be read again
		case kept.PruneAt > len(left) && !asked:
			now = kept
			return nil
		}
		if asked {
			kept.AskedAt = r.config.Clock().Unix()
		}
		kept.List, kept.PruneAt = left, max(leastPrune, 2*len(left))
		now = kept
		return records.Put(tx, kindReserved, payer.Hex(), kept)
	})
	if err != nil {
		return now, fmt.Errorf("store reservations: %w", err)
	}
	return now, nil
}

// readReserved returns the reservations of a payer: the records of those that were submitted,
// by key, and those that were only verified.
func (r *Rail) readReserved(ctx context.Context, payer common.Address) (now reservations, settlements map[string]authorizationRecord, verified []reservation, err error) {
	err = r.config.Store.View(ctx, func(tx Tx) (err error) {
		settlements, verified = map[string]authorizationRecord{}, nil
		if now, _, err = records.Get[reservations](tx, kindReserved, payer.Hex()); err != nil {
			return err
		}
		for _, one := range now.List {
			record, found, err := records.Get[authorizationRecord](tx, kindAuthorization, one.Key)
			if err != nil {
				return err
			}
			if !found && one.Until != 0 {
				verified = append(verified, one)
				continue
			}
			settlements[one.Key] = record
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("read reservations: %w", err)
	}
	return now, settlements, verified, err
}

// endedPermits returns which of the permits that were only verified can no longer be settled:
// they have expired, or were canceled or used at Permit2. asked reports whether Permit2 was
// asked.
func (r *Rail) endedPermits(ctx context.Context, payer common.Address, now reservations, verified []reservation, head *types.Header) (ended map[string]bool, asked bool, err error) {
	ended = map[string]bool{}
	latest := r.latestDeadline(head).Unix()
	var open []reservation
	for _, one := range verified {
		switch {
		case eth.Time(head).Unix() >= one.Until, one.Until > latest: // older versions verified any deadline
			ended[one.Key] = true
		case one.Payee != (common.Address{}):
			open = append(open, one)
		}
	}
	sinceAsked := r.config.Clock().Sub(time.Unix(now.AskedAt, 0))
	if len(open) == 0 || sinceAsked >= 0 && sinceAsked < askPermit2Every {
		return ended, false, nil
	}
	rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] }) //nolint:gosec // guessing which are asked about gains nothing
	for _, one := range open[:min(len(open), maxAskedPermits)] {
		if ended[one.Key], err = r.isNonceUsed(ctx, payer, one.Nonce); err != nil {
			return ended, true, err
		}
	}
	return ended, true, nil
}

// reservationEnded reports whether a settlement no longer needs its reservation.
func (r *Rail) reservationEnded(ctx context.Context, record authorizationRecord, head time.Time) (bool, error) {
	if record.decided() || record.Authorization.CheckWindow(head) == x402.ReasonValidBefore {
		return true, nil
	}
	t, err := record.transfer()
	if err != nil {
		return true, nil //nolint:nilerr // of no authorization that was sent
	}
	return r.isUsed(ctx, t)
}
