package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"

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
	AskedAt  int64         `json:"askedAt"`  // when Permit2 was last asked about verified permits, in Unix seconds
	List     []reservation `json:"orders"`
}

// reservation is the reserved value of one settlement.
type reservation struct {
	Key   string   `json:"key"` // of the authorization
	Value *big.Int `json:"value"`
	// Until is the end of a reservation whose authorization was only verified, in Unix
	// seconds. Zero if it was submitted.
	Until int64 `json:"until,omitzero"`
	// Nonce, Payee and Use are those of a permit that was verified. Use is a hash of the
	// resource and the idempotency key, for which alone the permit is settled. Empty in older
	// records.
	Nonce common.Hash    `json:"nonce,omitzero"`
	Payee common.Address `json:"payee,omitzero"`
	Use   string         `json:"use,omitempty"`
}

// leastPrune is the number of reservations that are kept before the ended ones are
// removed.
const leastPrune = 16

// maxReserved limits the reservations of a payer to which a permit adds another one: a payer
// can sign any number of permits that are verified and never settled, and each reservation
// is written again with all others.
const maxReserved = 500

// maxReservedByPayee limits the reservations of a payer for one payee, so that no payee takes
// those that are left for others. Their value is not limited: the payer signed each of them,
// at most what it has, for an hour at most, and can cancel it at Permit2.
const maxReservedByPayee = 100

// full reports whether there is no reservation left for a permit.
func (s reservations) full(a authorization) bool {
	if a.permit == nil {
		return false
	}
	ofPayee := 0
	for _, one := range s.List {
		switch {
		case one.Key == a.key:
			return false
		case one.Until != 0 && one.Payee == a.To:
			ofPayee++
		}
	}
	return len(s.List) >= maxReserved || ofPayee >= maxReservedByPayee
}

// reservation returns the reservation of an authorization.
func (a authorization) reservation() reservation {
	if a.permit == nil {
		return reservation{Key: a.key, Value: a.Value.Big()}
	}
	return reservation{
		Key: a.key, Value: a.Value.Big(), Until: a.wire.ValidBeforeTime().Unix(),
		Nonce: common.Hash(a.permit.Nonce), Payee: a.To, Use: a.use(a.caller),
	}
}

// use returns [reservation.Use] for a caller's idempotency key.
func (a authorization) use(caller string) string { return fingerprint("use", a.resource, caller)[:32] }

// checkUse refuses a permit that was verified for another resource or idempotency key: two
// servers would serve it, and one would be paid. One that was verified without a key can be
// settled with any.
func (s reservations) checkUse(a authorization) error {
	for _, one := range s.List {
		if one.Key != a.key || one.Use == "" || one.Use == a.use(a.caller) || !a.verify && one.Use == a.use("") {
			continue
		}
		return refuseAuthorization(a.reason(x402.ReasonNonceUsed), "the permit is in use by another request")
	}
	return nil
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
	if err == nil {
		err = now.checkUse(a)
	}
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
		if slices.ContainsFunc(kept.List, func(one reservation) bool { return one.Key == a.key }) {
			return kept.checkUse(a)
		}
		kept.List = append(kept.List, a.reservation())
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
