package chain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// chargeRecord is a charge that was decided or broadcast. It is written with its
// first broadcast or with its refusal, never before.
type chargeRecord struct {
	Print   string         `json:"print"` // of what was asked for
	Owner   common.Address `json:"owner"`
	Charge  evm.Charge     `json:"charge"`
	Since   uint64         `json:"since"` // the newest block then
	Outcome *rail.Outcome  `json:"outcome,omitempty"`
	// Reference is the charge's, for people. Empty in old records.
	Reference string `json:"reference,omitempty"`
	Undone    bool   `json:"undone,omitempty"` // it succeeded, and a reorganization took that back for good
}

// keyOf names a reference in the store; chain is its name on the chain.
func keyOf(reference string) (key string, ref common.Hash) {
	ref = crypto.Keccak256Hash([]byte(reference))
	return hex.EncodeToString(ref[:]), ref
}

// printOf tells what was asked for apart.
func printOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("chain: encode strings and integers: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func refused(why rail.Reason) rail.Outcome {
	return rail.Outcome{Status: rail.Refused, Reason: why}
}

// Charge moves money with the session key of the instrument's grant, at most once
// for the reference. It answers Pending where the chain has not confirmed within
// Config.Wait; a repeat and Lookup go on from there.
//
// By its arguments alone, without a trace, a charge is refused as
// [rail.Unavailable] that no chain could carry out: an amount not above nothing, a
// payee without a wallet, an instrument of another rail. What the owner's wallet
// or the grant does not give is refused before gas is spent: [rail.InsufficientFunds],
// [rail.AllowanceMissing] (the allowance, the grant's caps, a payee it does not
// name), [rail.Unavailable] (a grant that has ended, one of another mandate, a
// relayer without gas). What fails on the chain is refused as [rail.Reverted] or
// [rail.OutOfGas].
//
// [rail.ErrReferenceReused] where payer, payee, mandate or amount differ from the
// first call's. Any other error leaves the outcome unknown.
func (r *Rail) Charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	outcome, err := r.charge(ctx, c)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("charge %s on chain: %w", c.Reference, err)
	}
	return outcome, nil
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
	asked := printOf(c.MandateID, c.MerchantID, payee, c.Instrument.Customer, c.Instrument.Method, c.Amount)
	record, err := r.opened(ctx, key, request{Charge: c, payee: payee, ref: ref, asked: asked})
	if err != nil {
		return rail.Outcome{}, err
	}
	if record.Print != asked {
		return rail.Outcome{}, rail.ErrReferenceReused
	}
	return r.await(ctx, key, record, until)
}

// request is a charge with what follows from it.
type request struct {
	rail.Charge

	payee common.Address
	ref   common.Hash
	asked string
}

// opened returns the record of a reference, and makes it where there is none: one
// caller at a time, so that the chain is asked once.
func (r *Rail) opened(ctx context.Context, key string, q request) (chargeRecord, error) {
	record, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || found {
		return record, err
	}
	unlock, err := r.locks.lock(ctx, key)
	if err != nil {
		return chargeRecord{}, err
	}
	defer unlock()
	record, found, err = view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil || found {
		return record, err
	}
	return r.open(ctx, key, q)
}

// open decides a charge that nobody has seen: it is refused, or broadcast.
func (r *Rail) open(ctx context.Context, key string, q request) (chargeRecord, error) {
	record := chargeRecord{Print: q.asked, Reference: q.Reference}
	grantID, ok := parseHash(q.Instrument.Method)
	var grant grantRecord
	var err error
	if ok {
		grant, ok, err = view[grantRecord](ctx, r.config.Store, kindGrant, grantID.Hex())
	}
	if err != nil {
		return record, err
	}
	if !ok || q.Instrument.Customer != grant.Grant.Owner.Hex() || !grant.serves(q.MandateID) {
		return r.refuse(ctx, key, record, rail.Unavailable)
	}
	header, err := r.newest(ctx)
	if err != nil {
		return record, err
	}
	record.Owner, record.Since = grant.Grant.Owner, header.Number.Uint64()
	record.Charge = evm.Charge{
		GrantID: grantID, Payee: q.payee, Amount: uint64(q.Amount), Ref: q.ref,
		Deadline: header.Time + uint64(r.config.Lifetime/time.Second),
	}
	call, why, err := r.prepareCharge(ctx, grant, record.Charge)
	if err != nil {
		return record, err
	}
	if why != "" {
		return r.refuseUnlessCharged(ctx, key, record, why)
	}
	call.task = chargeTask(key)
	call.also = func(tx Tx) error { return r.record(tx, key, &record, q.MandateID) }
	_, err = r.submit(ctx, call)
	if errors.Is(err, errOtherMandate) {
		return r.refuse(ctx, key, record, rail.Unavailable)
	}
	if err != nil && !errors.Is(err, errRecorded) {
		return record, err
	}
	record, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err == nil && !found {
		err = fmt.Errorf("charge %s: %w", key, errRecord)
	}
	return record, err
}

const chargePrefix = "charge/"

func chargeTask(key string) string { return chargePrefix + key }

var (
	errRecorded     = errors.New("chain: somebody else recorded the charge")
	errOtherMandate = errors.New("chain: the grant serves another mandate")
)

// record stores a charge with its first broadcast, and binds the grant to the
// mandate that first uses it.
func (r *Rail) record(tx Tx, key string, record *chargeRecord, mandateID string) error {
	if _, found, err := read[chargeRecord](tx, kindCharge, key); err != nil || found {
		return errors.Join(err, errRecorded)
	}
	id := record.Charge.GrantID.Hex()
	grant, found, err := read[grantRecord](tx, kindGrant, id)
	if err != nil {
		return err
	}
	if !found || !grant.serves(mandateID) {
		return errOtherMandate
	}
	if grant.MandateID != mandateID {
		grant.MandateID = mandateID
		if err := write(tx, kindGrant, id, grant); err != nil {
			return err
		}
	}
	return write(tx, kindCharge, key, *record)
}

// refuseUnlessCharged records a refusal, unless the router has carried the charge out
// already: for another instance, which recorded it before, or for records that are
// gone. Of those nobody can tell the transaction.
func (r *Rail) refuseUnlessCharged(ctx context.Context, key string, record chargeRecord, why rail.Reason) (chargeRecord, error) {
	done, err := r.charged(ctx, record.Charge)
	if err != nil {
		return record, err
	}
	if !done {
		return r.refuse(ctx, key, record, why)
	}
	kept, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err == nil && !found {
		err = fmt.Errorf("charge %s was made, and there is no record of it: %w", key, errOutcome)
	}
	return kept, err
}

// charged tells whether the router has carried a charge out, in whatever block.
func (r *Rail) charged(ctx context.Context, c evm.Charge) (bool, error) {
	call := r.router.PackCharged(c.GrantID, c.Ref, c.Payee, new(big.Int).SetUint64(c.Amount))
	done, err := viewOf(ctx, r, r.config.Router, call, r.router.UnpackCharged)
	return done.Any, err
}

// refuse records a refusal, unless the charge was recorded meanwhile.
func (r *Rail) refuse(ctx context.Context, key string, record chargeRecord, why rail.Reason) (chargeRecord, error) {
	outcome := refused(why)
	record.Outcome = &outcome
	kept := record
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		now, found, err := read[chargeRecord](tx, kindCharge, key)
		if err != nil {
			return err
		}
		if found {
			kept = now
			return nil
		}
		kept = record
		return write(tx, kindCharge, key, record)
	})
	if err != nil {
		return record, fmt.Errorf("store refusal: %w", err)
	}
	failpoint.Hit(failpoint.TransferRefused)
	return kept, nil
}

// Lookup tells what became of a reference; [rail.Unseen] where nothing did. An
// error leaves the outcome unknown.
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
	record, found, err := view[chargeRecord](ctx, r.config.Store, kindCharge, key)
	if err != nil {
		return rail.Outcome{}, err
	}
	if !found {
		return rail.Outcome{Status: rail.Unseen}, nil
	}
	return r.await(ctx, key, record, time.Time{})
}

// await asks the chain until the charge has ended or it is late; at least once.
// Where Start was not called, who waits tends the transactions too: one of another
// charge, before this one's, may be what it waits for.
func (r *Rail) await(ctx context.Context, key string, record chargeRecord, until time.Time) (rail.Outcome, error) {
	for round := 0; ; round++ {
		next := r.nextBlock()
		if record.Outcome != nil {
			return *record.Outcome, nil
		}
		outcome, err := r.settle(ctx, key, record)
		if err != nil || outcome.Status != rail.Pending {
			return outcome, err
		}
		late := !time.Now().Before(until)
		if r.stop == nil && (late || round%tendRounds == tendRounds-1) {
			if err := r.tend(ctx); err != nil {
				r.config.Logger.WarnContext(ctx, "chain rail could not tend transactions", slog.Any("error", err))
			}
		}
		if late {
			return outcome, nil
		}
		if err := pause(ctx, next, min(r.config.Poll, time.Until(until))); err != nil {
			return rail.Outcome{}, err
		}
	}
}

// tendRounds is how many rounds of await there are for each of tend.
const tendRounds = 8

// pause waits, at most until a block that next announces. It returns ctx's error if ctx
// ends first.
func pause(ctx context.Context, next <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
