package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/x402"
)

// The value of settlements under way is reserved, so that of many authorizations of
// one balance only those are sent that the balance covers.

// kindReserved records are keyed by the payer's address.
const kindReserved = "reserved"

// reservations are a payer's settlements that were sent. An order is removed only
// after its end was seen, and the balance is read again after that.
type reservations struct {
	Removals uint64     `json:"removals"` // how often orders were removed
	PruneAt  int        `json:"pruneAt"`  // at how many orders the next removal is due
	Orders   []reserved `json:"orders"`
}

// reserved is one settlement.
type reserved struct {
	Key   string   `json:"key"` // of the authorization
	Value *big.Int `json:"value"`
}

// leastPrune is how many orders are kept before the ended ones are removed.
const leastPrune = 16

// errReserved reports that the payer's reservations changed meanwhile.
var errReserved = errors.New("chain: the payer's settlements changed")

// others sums up all orders but one.
func (s reservations) others(key string) *big.Int {
	sum := new(big.Int)
	for _, o := range s.Orders {
		if o.Key != key {
			sum.Add(sum, o.Value)
		}
	}
	return sum
}

// covers reports whether a balance covers an order beside those under way.
func (s reservations) covers(o order, balance *big.Int) bool {
	need := s.others(o.key)
	return need.Add(need, o.Value.Big()).Cmp(balance) <= 0
}

// checkFunds refuses an order that the payer's balance does not cover, and returns
// what reserves its value in the transaction that stores it.
func (r *Rail) checkFunds(ctx context.Context, o order) (reserve func(tx Tx) error, err error) {
	now, _, err := view[reservations](ctx, r.config.Store, kindReserved, o.From.Hex())
	if err != nil {
		return nil, err
	}
	balance, err := r.balance(ctx, o.From)
	if err != nil {
		return nil, err
	}
	if balance.Cmp(o.Value.Big()) < 0 {
		return nil, refuseAuthorization(x402.ReasonInsufficientFunds, "the payer has less than the amount")
	}
	if len(now.Orders) > 0 && (!now.covers(o, balance) || len(now.Orders) >= now.PruneAt) {
		if now, err = r.pruneReserved(ctx, o.From); err != nil {
			return nil, err
		}
		if balance, err = r.balance(ctx, o.From); err != nil {
			return nil, err
		}
	}
	if !now.covers(o, balance) {
		return nil, refuseAuthorization(x402.ReasonInsufficientFunds, "the payer's balance is needed for payments under way")
	}
	return func(tx Tx) error {
		kept, _, err := read[reservations](tx, kindReserved, o.From.Hex())
		if err != nil {
			return err
		}
		if kept.Removals != now.Removals || !kept.covers(o, balance) {
			return errReserved
		}
		for _, one := range kept.Orders {
			if one.Key == o.key {
				return nil
			}
		}
		kept.Orders = append(kept.Orders, reserved{o.key, o.Value.Big()})
		kept.PruneAt = max(kept.PruneAt, leastPrune)
		return write(tx, kindReserved, o.From.Hex(), kept)
	}, nil
}

// pruneReserved removes the orders that have ended: those that are decided, that the
// token shows as used, or that can no longer land.
func (r *Rail) pruneReserved(ctx context.Context, payer common.Address) (reservations, error) {
	var now reservations
	records := map[string]authorizationRecord{}
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		clear(records)
		if now, _, err = read[reservations](tx, kindReserved, payer.Hex()); err != nil {
			return err
		}
		for _, o := range now.Orders {
			if records[o.Key], _, err = read[authorizationRecord](tx, kindAuthorization, o.Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return now, fmt.Errorf("read reservations: %w", err)
	}
	header, err := r.newest(ctx)
	if err != nil {
		return now, err
	}
	head := time.Unix(int64(header.Time), 0)
	ended := map[string]bool{}
	for key, record := range records {
		if ended[key], err = r.reservedEnded(ctx, record, head); err != nil {
			return now, err
		}
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		kept, _, err := read[reservations](tx, kindReserved, payer.Hex())
		if err != nil {
			return err
		}
		left := kept.Orders[:0:0]
		for _, o := range kept.Orders {
			if !ended[o.Key] {
				left = append(left, o)
			}
		}
		if len(left) < len(kept.Orders) {
			kept.Removals++ // whoever read the balance before must read it again
		} else if kept.PruneAt > len(left) {
			now = kept
			return nil
		}
		kept.Orders, kept.PruneAt = left, max(leastPrune, 2*len(left))
		now = kept
		return write(tx, kindReserved, payer.Hex(), kept)
	})
	if err != nil {
		return now, fmt.Errorf("store reservations: %w", err)
	}
	return now, nil
}

func (r *Rail) reservedEnded(ctx context.Context, record authorizationRecord, head time.Time) (bool, error) {
	if record.decided() || record.Authorization.CheckWindow(head) == x402.ReasonValidBefore {
		return true, nil
	}
	t, err := record.transfer()
	if err != nil {
		return true, nil //nolint:nilerr // of no order that was sent
	}
	return r.usedOrder(ctx, t)
}
