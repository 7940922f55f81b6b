package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// keyOf returns a reference's key in the store, and its name on the chain.
func keyOf(reference string) (key string, ref common.Hash) {
	ref = crypto.Keccak256Hash([]byte(reference))
	return hex.EncodeToString(ref[:]), ref
}

func refused(why rail.Reason) rail.Outcome {
	return rail.Outcome{Status: rail.Refused, Reason: why}
}

// Charge moves money with the session key of the instrument's grant, at most once for
// the reference. It returns Pending if the chain has not confirmed the charge within
// Config.Wait; a repeat and Lookup continue from there.
//
// Charge refuses as [rail.Unavailable], without a record, a charge that no chain could
// carry out: an amount that is not positive, a payee without a wallet, an instrument of
// another rail. It refuses before gas is spent what the owner's wallet or the grant
// does not allow: [rail.InsufficientFunds], [rail.AllowanceMissing] (the allowance, the
// grant's limits, a payee that the grant does not name), [rail.Unavailable] (a grant
// that has ended, a grant of another mandate, a relayer without gas). A charge that
// fails on the chain is refused as [rail.Reverted] or [rail.OutOfGas].
//
// Charge returns [rail.ErrReferenceReused] if payer, payee, mandate or amount differ
// from the first call's. After any other error the outcome is unknown.
func (r *Rail) Charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	outcome, err := r.charge(ctx, c)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("charge %s on chain: %w", c.Reference, err)
	}
	return outcome, nil
}

// chargeFingerprint returns a hash of what must not change between calls.
func chargeFingerprint(c rail.Charge, payee common.Address) string {
	return fingerprint(c.MandateID, c.MerchantID, payee, c.Instrument.Customer, c.Instrument.Method, c.Amount)
}

func (r *Rail) charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	until := time.Now().Add(r.config.Wait)
	if c.NoWait {
		until = time.Time{}
	}
	if err := ctx.Err(); err != nil {
		return rail.Outcome{}, err
	}
	payee, err := address(c.PayTo)
	if err != nil || c.Amount <= 0 || c.Instrument.Rail != rail.Chain {
		return refused(rail.Unavailable), nil //nolint:nilerr // a payee without a wallet
	}
	key, ref := keyOf(c.Reference)
	asked := chargeFingerprint(c, payee)
	record, err := r.findOrOpenCharge(ctx, key, chargeRequest{Charge: c, payee: payee, ref: ref, fingerprint: asked})
	if err != nil {
		return rail.Outcome{}, err
	}
	if record.Fingerprint != asked {
		return rail.Outcome{}, rail.ErrReferenceReused
	}
	return r.awaitCharge(ctx, key, record, until)
}

// chargeRequest is a charge with what follows from it.
type chargeRequest struct {
	rail.Charge

	payee       common.Address
	ref         common.Hash
	fingerprint string
}

// findOrOpenCharge returns the record of a reference. If there is none, it opens the
// charge, for one caller at a time.
func (r *Rail) findOrOpenCharge(ctx context.Context, key string, q chargeRequest) (chargeRecord, error) {
	record, found, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || found {
		return record, err
	}
	unlock, err := r.locks.lock(ctx, key)
	if err != nil {
		return chargeRecord{}, err
	}
	defer unlock()
	record, found, err = records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || found {
		return record, err
	}
	return r.openCharge(ctx, key, q)
}

// deadline returns the time until which a charge can land. A chain that had nothing to do may
// have made no block for a while: the next one is of the present, not of the newest's time.
func (r *Rail) deadline(newest uint64) uint64 {
	now := max(r.config.Clock().Unix(), 0)
	return max(newest, uint64(now)) + uint64(r.config.Lifetime/time.Second)
}

// openCharge refuses or broadcasts a charge that has no record.
func (r *Rail) openCharge(ctx context.Context, key string, q chargeRequest) (chargeRecord, error) {
	record := chargeRecord{Fingerprint: q.fingerprint, Reference: q.Reference}
	grantID, ok := parseHash(q.Instrument.Method)
	var grant grantRecord
	var err error
	if ok {
		grant, ok, err = records.Load[grantRecord](ctx, r.config.Store, kindGrant, grantID.Hex())
	}
	if err != nil {
		return record, err
	}
	if !ok || q.Instrument.Customer != grant.Grant.Owner.Hex() || !grant.serves(q.MandateID) {
		return r.refuseCharge(ctx, key, record, rail.Unavailable)
	}
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return record, err
	}
	record.Owner, record.Since = grant.Grant.Owner, header.Number.Uint64()
	record.Charge = evm.Charge{
		GrantID: grantID, Payee: q.payee, Amount: uint64(q.Amount), Ref: q.ref,
		Deadline: r.deadline(header.Time),
	}
	job, why, err := r.prepareCharge(ctx, grant, record.Charge)
	if err != nil {
		return record, err
	}
	if why != "" {
		return r.refuseUnlessCharged(ctx, key, record, why)
	}
	job.Task = chargeTask(key)
	if !bringsFee(q.MerchantID) && !r.spendWithoutFee(ctx, job, record) {
		return r.refuseUnlessCharged(ctx, key, record, rail.Unavailable)
	}
	job.Also = func(tx Tx) error { return recordCharge(tx, key, record, q.MandateID) }
	if _, err = r.relayer.Submit(ctx, job); err != nil {
		r.budget.GiveBack(job.Task)
	}
	if errors.Is(err, errOtherMandate) {
		return r.refuseCharge(ctx, key, record, rail.Unavailable)
	}
	if err != nil && !errors.Is(err, errRecorded) {
		return record, err
	}
	return r.loadCharge(ctx, key)
}

// Lookup returns the outcome of a reference, [rail.Unseen] if there is no record of it.
// After an error the outcome is unknown.
func (r *Rail) Lookup(ctx context.Context, reference string) (rail.Outcome, error) {
	outcome, err := r.lookup(ctx, reference)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("look up %s on chain: %w", reference, err)
	}
	return outcome, nil
}

func (r *Rail) lookup(ctx context.Context, reference string) (rail.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return rail.Outcome{}, err
	}
	key, _ := keyOf(reference)
	record, found, err := records.Load[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil {
		return rail.Outcome{}, err
	}
	if !found {
		return rail.Outcome{Status: rail.Unseen}, nil
	}
	return r.awaitCharge(ctx, key, record, time.Time{})
}

// tendRounds is the number of rounds of awaitCharge for each call of tend.
const tendRounds = 8

// awaitCharge reads the chain until the charge has ended or it is late; at least once.
// If Start was not called, awaitCharge tends the relayer's transactions too: the charge
// may wait for an earlier one.
func (r *Rail) awaitCharge(ctx context.Context, key string, record chargeRecord, until time.Time) (rail.Outcome, error) {
	for round := 0; ; round++ {
		next := r.chain.NextBlock()
		if record.Outcome != nil {
			return *record.Outcome, nil
		}
		outcome, err := r.settleCharge(ctx, key, record)
		if err != nil || outcome.Status != rail.Pending {
			return outcome, err
		}
		late := !time.Now().Before(until)
		if r.stop == nil && (late || round%tendRounds == tendRounds-1) {
			r.tendOnce(ctx)
		}
		if late {
			return outcome, nil
		}
		if err := eth.Pause(ctx, next, min(r.config.Poll, time.Until(until))); err != nil {
			return rail.Outcome{}, err
		}
	}
}

// tendOnce is one round of tend by a caller that waits.
func (r *Rail) tendOnce(ctx context.Context) {
	if err := r.tend(ctx); err != nil {
		r.config.Logger.WarnContext(ctx, "chain rail could not tend transactions", slog.Any("error", err))
	}
}
