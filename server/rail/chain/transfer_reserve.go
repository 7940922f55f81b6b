package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// The value of settlements in progress is reserved, so that of many authorizations of
// one balance only those are sent that the balance covers. That of a permit is reserved when
// it is verified, because its payee serves before it settles.

// reservations are a payer's settlements that were sent. One is removed only after its
// end was seen, and the balance is read again after that.
type reservations struct {
	Removals uint64        `json:"removals"` // counts removals
	PruneAt  int           `json:"pruneAt"`  // the length at which the next removal is due
	List     []reservation `json:"orders"`
}

// reservation is the reserved value of one settlement.
type reservation struct {
	Key   string   `json:"key"` // of the authorization
	Value *big.Int `json:"value"`
	// Until is the end of a reservation whose authorization was only verified, in Unix
	// seconds. Zero if it was submitted.
	Until int64 `json:"until,omitzero"`
}

// leastPrune is the number of reservations that are kept before the ended ones are
// removed.
const leastPrune = 16

// maxReserved limits the reservations of a payer to which a permit adds another one: a payer
// can sign any number of permits that are verified and never settled, and each reservation
// is written again with all others.
const maxReserved = 500

// full reports whether there is no reservation left for a permit.
func (s reservations) full(a authorization) bool {
	return a.permit != nil && len(s.List) >= maxReserved && !slices.ContainsFunc(s.List, func(one reservation) bool { return one.Key == a.key })
}

// errReservationsChanged reports that the payer's reservations changed meanwhile.
var errReservationsChanged = errors.New("chain: the payer's settlements changed")

// others returns the sum of all reservations but one.
func (s reservations) others(key string) *big.Int {
	sum := new(big.Int)
	for _, one := range s.List {
		if one.Key != key {
			sum.Add(sum, one.Value)
		}
	}
	return sum
}

// covers reports whether a balance covers an authorization and all other reservations.
func (s reservations) covers(a authorization, balance *big.Int) bool {
	need := s.others(a.key)
	return need.Add(need, a.Value.Big()).Cmp(balance) <= 0
}

// checkFunds refuses an authorization that the payer's balance does not cover. It
// returns a function that reserves the value in the transaction that stores the
// authorization.
func (r *Rail) checkFunds(ctx context.Context, a authorization) (reserve func(tx Tx) error, err error) {
	now, _, err := records.Load[reservations](ctx, r.config.Store, kindReserved, a.From.Hex())
	if err != nil {
		return nil, err
	}
	balance, err := r.balance(ctx, a.From)
	if err != nil {
		return nil, err
	}
	if balance.Cmp(a.Value.Big()) < 0 {
		return nil, refuseAuthorization(x402.ReasonInsufficientFunds, "the payer has less than the amount")
	}
	if len(now.List) > 0 && (!now.covers(a, balance) || now.full(a) || len(now.List) >= now.PruneAt) {
		if now, err = r.pruneReserved(ctx, a.From); err != nil {
			return nil, err
		}
		if balance, err = r.balance(ctx, a.From); err != nil {
			return nil, err
		}
	}
	if now.full(a) {
		return nil, refuseAuthorization(x402.ReasonInsufficientFunds, "the payer has %d payments in progress", len(now.List))
	}
	if !now.covers(a, balance) {
		return nil, refuseAuthorization(x402.ReasonInsufficientFunds, "the payer's balance is needed for payments in progress")
	}
	return func(tx Tx) error {
		kept, _, err := records.Get[reservations](tx, kindReserved, a.From.Hex())
		if err != nil {
			return err
		}
		if kept.Removals != now.Removals || !kept.covers(a, balance) || kept.full(a) {
			return errReservationsChanged
		}
		for _, one := range kept.List {
			if one.Key == a.key {
				return nil
			}
		}
		kept.List = append(kept.List, reservation{Key: a.key, Value: a.Value.Big(), Until: a.reservedUntil()})
		kept.PruneAt = max(kept.PruneAt, leastPrune)
		return records.Put(tx, kindReserved, a.From.Hex(), kept)
	}, nil
}

// reserveVerified reserves the value of a permit that was verified.
func (r *Rail) reserveVerified(ctx context.Context, a authorization, reserve func(tx Tx) error) (err error) {
	for range maxReserveTries {
		if err = r.config.Store.Update(ctx, reserve); !errors.Is(err, errReservationsChanged) {
			break
		}
		if reserve, err = r.checkFunds(ctx, a); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("store reservation: %w", err)
	}
	return nil
}

// reservedUntil returns [reservation.Until]. A permit can be verified, and never settled.
func (a authorization) reservedUntil() int64 {
	if a.permit == nil {
		return 0
	}
	return a.wire.ValidBeforeTime().Unix()
}

// pruneReserved removes the reservations that have ended: the authorization is decided,
// or used as the token says, or can no longer land.
func (r *Rail) pruneReserved(ctx context.Context, payer common.Address) (reservations, error) {
	var now reservations
	settlements, verified := map[string]authorizationRecord{}, map[string]int64{}
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		clear(settlements)
		clear(verified)
		if now, _, err = records.Get[reservations](tx, kindReserved, payer.Hex()); err != nil {
			return err
		}
		for _, one := range now.List {
			record, found, err := records.Get[authorizationRecord](tx, kindAuthorization, one.Key)
			if err != nil {
				return err
			}
			if !found && one.Until != 0 {
				verified[one.Key] = one.Until
				continue
			}
			settlements[one.Key] = record
		}
		return nil
	})
	if err != nil {
		return now, fmt.Errorf("read reservations: %w", err)
	}
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return now, err
	}
	ended := map[string]bool{}
	for key, until := range verified {
		ended[key] = eth.Time(header).Unix() >= until
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
		left := kept.List[:0:0]
		for _, one := range kept.List {
			if !ended[one.Key] {
				left = append(left, one)
			}
		}
		if len(left) < len(kept.List) {
			kept.Removals++ // a balance that was read before must be read again
		} else if kept.PruneAt > len(left) {
			now = kept
			return nil
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
