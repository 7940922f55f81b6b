package chain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// chargeRecord is a charge that was broadcast or refused. It is written with its first
// broadcast or with its refusal, never before.
type chargeRecord struct {
	Fingerprint string         `json:"print"` // of the arguments
	Owner       common.Address `json:"owner"`
	Charge      evm.Charge     `json:"charge"`
	Since       uint64         `json:"since"` // the newest block when the charge was opened
	Outcome     *rail.Outcome  `json:"outcome,omitempty"`
	// Reference is the charge's, for operators. Old records have none.
	Reference string `json:"reference,omitempty"`
	// Undone: the charge succeeded, and a reorganization took it back for good.
	Undone bool `json:"undone,omitempty"`
}

// fingerprint returns a hash that differs if an argument differs.
func fingerprint(args ...any) string {
	text, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("chain: encode strings and integers: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

const chargePrefix = "charge/"

func chargeTask(key string) string { return chargePrefix + key }

var (
	errRecorded     = errors.New("chain: another call recorded the payment")
	errOtherMandate = errors.New("chain: the grant serves another mandate")
)

// recordCharge stores a charge with its first broadcast, and binds the grant to the
// mandate that charges it first.
func recordCharge(tx Tx, key string, record chargeRecord, mandateID string) error {
	if _, found, err := records.Get[chargeRecord](tx, kindCharge, key); err != nil || found {
		return errors.Join(err, errRecorded)
	}
	id := record.Charge.GrantID.Hex()
	grant, found, err := records.Get[grantRecord](tx, kindGrant, id)
	if err != nil {
		return err
	}
	if !found || !grant.serves(mandateID) {
		return errOtherMandate
	}
	if grant.MandateID != mandateID {
		grant.MandateID = mandateID
		if err := records.Put(tx, kindGrant, id, grant); err != nil {
			return err
		}
	}
	return records.Put(tx, kindCharge, key, record)
}

// loadCharge returns the record of a charge that must have one.
func (r *Rail) loadCharge(ctx context.Context, key string) (chargeRecord, error) {
	record, found, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err == nil && !found {
		err = fmt.Errorf("charge %s: %w", key, records.ErrDamaged)
	}
	return record, err
}

// refuseUnlessCharged records a refusal, unless the router has already made the charge
// for another instance, which recorded it, or for records that are lost. If they are
// lost, the transaction is unknown.
func (r *Rail) refuseUnlessCharged(ctx context.Context, key string, record chargeRecord, why rail.Reason) (chargeRecord, error) {
	done, err := r.charged(ctx, record.Charge)
	if err != nil {
		return record, err
	}
	if !done {
		return r.refuseCharge(ctx, key, record, why)
	}
	kept, found, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err == nil && !found {
		err = fmt.Errorf("charge %s was made, and there is no record of it: %w", key, errContradiction)
	}
	return kept, err
}

// refuseCharge records a refusal, unless another call recorded the charge first.
func (r *Rail) refuseCharge(ctx context.Context, key string, record chargeRecord, why rail.Reason) (chargeRecord, error) {
	outcome := refused(why)
	record.Outcome = &outcome
	kept := record
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		now, found, err := records.Get[chargeRecord](tx, kindCharge, key)
		if err != nil {
			return err
		}
		if found {
			kept = now
			return nil
		}
		kept = record
		return records.Put(tx, kindCharge, key, record)
	})
	if err != nil {
		return record, fmt.Errorf("store refusal: %w", err)
	}
	failpoint.Hit(failpoint.TransferRefused)
	return kept, nil
}

// storeOutcome records an outcome, unless the charge has one, and returns the recorded
// one.
func (r *Rail) storeOutcome(ctx context.Context, key string, outcome rail.Outcome) (rail.Outcome, error) {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := records.Get[chargeRecord](tx, kindCharge, key)
		if err == nil && !found {
			err = fmt.Errorf("charge %s: %w", key, records.ErrDamaged)
		}
		if err != nil {
			return err
		}
		if record.Outcome != nil {
			outcome = *record.Outcome
			return nil
		}
		record.Outcome = &outcome
		return records.Put(tx, kindCharge, key, record)
	})
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("store outcome: %w", err)
	}
	r.budget.End(chargeTask(key), false)
	failpoint.Hit(failpoint.TransferDecided)
	return outcome, nil
}
