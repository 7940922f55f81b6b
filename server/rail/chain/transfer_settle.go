package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/gasbudget"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// SettleAuthorization is [Rail.SettleOnce] without an idempotency key: one call
// succeeds, and every later one is refused as a duplicate.
func (r *Rail) SettleAuthorization(ctx context.Context, e x402.Exact, resource string) (x402.Settlement, error) {
	return r.SettleOnce(ctx, e, rail.SettleRequest{Resource: resource})
}

// SettleOnce moves what was authorized, at most once, and waits for the outcome up to
// Config.Wait: Success, a refusal, or [x402.ReasonPending] with the transaction. A
// repeat of a pending settlement continues it.
//
// A settlement succeeds once. A repeat is refused with [x402.ReasonDuplicate] and the
// transaction, unless it carries the idempotency key of the first call: then it returns
// the first result again, with Replayed set. If the first call of a pending settlement
// had a key, only calls with that key can succeed.
//
// After an error the outcome is unknown; the same call finds it.
func (r *Rail) SettleOnce(ctx context.Context, e x402.Exact, q rail.SettleRequest) (x402.Settlement, error) {
	a, err := parseAuthorization(e, q.Resource)
	return r.settlement(ctx, e.Authorization.From, a, err, q)
}

// settlement settles an authorization. malformed is the error of parsing it.
func (r *Rail) settlement(ctx context.Context, payer string, a authorization, malformed error, q rail.SettleRequest) (x402.Settlement, error) {
	network, _ := r.Dollar()
	s := x402.Settlement{Network: network.CAIP2, Payer: payer}
	began := time.Now()
	if malformed != nil {
		s.ErrorReason, s.ErrorMessage = x402.ReasonInvalidPayload, malformed.Error()
		return s, nil //nolint:nilerr // a refusal is an answer
	}
	a.from, a.ledger, a.caller = q.Caller, q.Ledger, callerOf(q)
	record, err := r.findOrSubmit(ctx, a)
	if err == nil {
		s, err = r.awaitSettlement(ctx, a, record, s, began.Add(r.config.Wait))
	}
	var no *refusedError
	if errors.As(err, &no) {
		s.ErrorReason, s.ErrorMessage = no.reason, no.message
		return s, nil
	}
	if err != nil {
		return x402.Settlement{}, fmt.Errorf("settle authorization: %w", err)
	}
	if s.Success && !s.Replayed && s.Transaction != "" {
		r.latency.observe(time.Since(began))
	}
	return s, nil
}

// callerOf returns the hash of the caller's idempotency key, or "".
func callerOf(q rail.SettleRequest) string {
	if q.IdempotencyKey == "" {
		return ""
	}
	return fingerprint("settle", q.IdempotencyKey)
}

// recentLatency averages how long settlements took.
type recentLatency struct {
	mu  sync.Mutex
	avg time.Duration
}

func (l *recentLatency) observe(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.avg += (d - l.avg) / 8
}

func (l *recentLatency) average() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.avg
}

// findOrSubmit returns the record of an authorization. If there is none, it submits the
// authorization, for one caller at a time.
func (r *Rail) findOrSubmit(ctx context.Context, a authorization) (authorizationRecord, error) {
	for locked := false; ; locked = true {
		record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, a.key)
		if err != nil {
			return record, err
		}
		if found {
			return record, record.checkSame(a)
		}
		if locked {
			break
		}
		unlock, err := r.locks.lock(ctx, authorizationTask(a.key))
		if err != nil {
			return record, err
		}
		defer unlock()
	}
	record, err := r.submit(ctx, a, nil)
	for tries := 1; errors.Is(err, errReservationsChanged) && tries < maxReserveTries; tries++ {
		record, err = r.submit(ctx, a, nil)
	}
	var no *refusedError
	if errors.As(err, &no) { // perhaps because of what another instance has done meanwhile
		kept, found, loadErr := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, a.key)
		if loadErr != nil {
			return record, loadErr
		}
		if found {
			return kept, kept.checkSame(a)
		}
	}
	return record, err
}

// maxReserveTries is how often an authorization is checked if other settlements of the
// payer change meanwhile.
const maxReserveTries = 8

// submit checks an authorization and submits it to the relayer. If the authorization
// was used already, submit looks for the transfer on the chain instead. The record kept
// is that of an authorization that lost its nonce, nil for a new one.
func (r *Rail) submit(ctx context.Context, a authorization, kept *authorizationRecord) (authorizationRecord, error) {
	if a.permit != nil && a.Value == (evm.Uint256{}) {
		return r.waive(ctx, a)
	}
	record := authorizationRecord{
		Authorization: a.wire, Permit: a.permitWire(), Signature: hex.EncodeToString(a.signature), Resource: a.resource, Caller: a.caller,
	}
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return record, err
	}
	record.Since = header.Number.Uint64()
	write := func(tx Tx) error {
		if kept != nil {
			return nil
		}
		return recordAuthorization(tx, a, &record)
	}
	t, err := r.checkDeployed(ctx, a)
	if errors.Is(err, errUsed) {
		if kept != nil {
			record.Settled, err = r.findTransfer(ctx, a.signedTransfer, kept.Since)
		} else {
			record.Settled, err = r.findSighted(ctx, a)
		}
		if err == nil {
			err = a.begin(ctx, kept, &record)
		}
		if err != nil {
			return record, err
		}
		if err := r.config.Store.Update(ctx, write); err != nil && !errors.Is(err, errRecorded) {
			return record, fmt.Errorf("store authorization: %w", err)
		}
		return record, nil
	}
	if err != nil {
		return record, err
	}
	t.job.Task = authorizationTask(a.key)
	if err := r.spend(ctx, t.job.Task, expenseOf(gasbudget.CostOf(t.job.Gas, t.job.Offer.Cap), a, t.contract)); err != nil {
		return record, err
	}
	if err := a.begin(ctx, kept, &record); err != nil {
		r.budget.GiveBack(t.job.Task)
		return record, err
	}
	failpoint.Hit(failpoint.AuthorizationChecked)
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	t.job.Also = func(tx Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		return t.reserve(tx)
	}
	t.job.Stored, t.job.Sent = failpoint.AuthorizationStored, failpoint.AuthorizationSent
	if _, err = r.relayer.Submit(ctx, t.job); err != nil {
		r.budget.GiveBack(t.job.Task)
	}
	if err != nil && !errors.Is(err, errRecorded) {
		return record, err
	}
	return record, nil
}

// recordAuthorization writes a record, unless there is one. Then it returns that record
// and [errRecorded].
func recordAuthorization(tx Tx, a authorization, record *authorizationRecord) error {
	now, found, err := records.Get[authorizationRecord](tx, kindAuthorization, a.key)
	if err != nil {
		return err
	}
	if found {
		if err := now.checkSame(a); err != nil {
			return err
		}
		*record = now
		return errRecorded
	}
	if record.Charge != "" {
		if err := records.Put(tx, kindTransferCharge, record.Charge, a.key); err != nil {
			return err
		}
	}
	return records.Put(tx, kindAuthorization, a.key, *record)
}
