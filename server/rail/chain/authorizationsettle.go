package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/x402"
)

// awaitOrder asks the chain until the authorization has ended or it is late.
func (r *Rail) awaitOrder(ctx context.Context, o order, record authorizationRecord, s x402.Settlement, until time.Time) (x402.Settlement, error) {
	for {
		next := r.nextBlock()
		var pending common.Hash
		var err error
		if !record.decided() {
			if record, pending, err = r.followOrder(ctx, o, record); err != nil {
				return s, err
			}
		}
		if record.decided() {
			return r.tellOrder(ctx, o, record, s)
		}
		late := !time.Now().Before(until)
		if r.stop == nil && late {
			if err := r.tend(ctx); err != nil {
				r.config.Logger.WarnContext(ctx, "chain rail could not tend transactions", slog.Any("error", err))
			}
		}
		if late {
			s.ErrorReason, s.Transaction = x402.ReasonPending, pending.Hex()
			return s, nil
		}
		if err := pause(ctx, next, min(r.config.Poll, time.Until(until))); err != nil {
			return s, err
		}
	}
}

// followOrder asks the chain once, and keeps what is final.
func (r *Rail) followOrder(ctx context.Context, o order, record authorizationRecord) (authorizationRecord, common.Hash, error) {
	s, found, err := r.taskSlot(ctx, authorizationPrefix+o.key)
	if err != nil {
		return record, common.Hash{}, err
	}
	if !found {
		return r.resubmitOrder(ctx, o, record)
	}
	became, receipt, err := r.examine(ctx, s)
	if err != nil {
		return record, common.Hash{}, err
	}
	pending := s.last().Hash
	switch became {
	case final:
		deep, err := r.deepEnough(ctx, o.Value.Big(), receipt.BlockNumber.Uint64())
		if err != nil || !deep {
			return record, receipt.TxHash, err
		}
		record, err = r.concludeOrder(ctx, o, record, receipt)
		return record, pending, err
	case displaced:
		if err := r.leave(ctx, s); err != nil {
			return record, pending, err
		}
		return r.resubmitOrder(ctx, o, record)
	case included:
		return record, receipt.TxHash, nil
	case waiting:
		fallthrough
	default:
		return record, pending, r.push(ctx, s)
	}
}

// concludeOrder reads the outcome of our own transaction, once it is final.
func (r *Rail) concludeOrder(ctx context.Context, o order, record authorizationRecord, receipt *types.Receipt) (authorizationRecord, error) {
	failpoint.Hit(failpoint.AuthorizationLanded)
	if receipt.Status == types.ReceiptStatusSuccessful && r.movedOrder(receipt, o.TransferAuthorization) {
		r.budget.ended(authorizationPrefix+o.key, false)
		record.Settled = receipt.TxHash
		return r.decideOrder(ctx, o, record)
	}
	hash, err := r.findOrder(ctx, o.TransferAuthorization, record.Since)
	var no *refusedError
	switch {
	case err == nil:
		record.Settled = hash
	case errors.As(err, &no) && no.reason == x402.ReasonPending:
		return record, nil
	case errors.As(err, &no):
		r.budget.ended(authorizationPrefix+o.key, receipt.Status != types.ReceiptStatusSuccessful)
		record.Failed, record.FailedHash = x402.ReasonTransactionState, receipt.TxHash
	default:
		return record, err
	}
	return r.decideOrder(ctx, o, record)
}

// resubmitOrder submits an authorization anew whose nonce of the relayer was lost
// to somebody else.
func (r *Rail) resubmitOrder(ctx context.Context, o order, record authorizationRecord) (authorizationRecord, common.Hash, error) {
	unlock, err := r.locks.lock(ctx, authorizationPrefix+o.key)
	if err != nil {
		return record, common.Hash{}, err
	}
	defer unlock()
	if s, found, err := r.taskSlot(ctx, authorizationPrefix+o.key); err != nil || found { // somebody else was faster
		return record, s.hash(), err
	}
	again, err := r.submitOrder(ctx, o, &record)
	var no *refusedError
	if errors.As(err, &no) && no.reason != x402.ReasonPending {
		if s, found, err := r.taskSlot(ctx, authorizationPrefix+o.key); err != nil || found { // was, meanwhile
			return record, s.hash(), err
		}
		ended, err := r.endsOrder(ctx, o, no.reason)
		if err != nil || !ended {
			return record, common.Hash{}, cmp.Or[error](err, no)
		}
		record.Failed = no.reason
		record, err = r.decideOrder(ctx, o, record)
		return record, common.Hash{}, err
	}
	if err != nil {
		return record, common.Hash{}, err
	}
	if again.Settled != (common.Hash{}) {
		record.Settled = again.Settled
		record, err = r.decideOrder(ctx, o, record)
	}
	s, _, slotErr := r.taskSlot(ctx, authorizationPrefix+o.key)
	if err = errors.Join(err, slotErr); err != nil || len(s.Broadcasts) == 0 {
		return record, record.Settled, err
	}
	return record, s.last().Hash, nil
}

// endsOrder reports whether a refusal stands for good. Others are answered and not kept:
// balances, budgets and a paused token change, and a later call settles the order then.
func (r *Rail) endsOrder(ctx context.Context, o order, reason x402.Reason) (bool, error) {
	switch reason {
	case x402.ReasonSignature, x402.ReasonRecipient, x402.ReasonNonceUsed:
		return true, nil
	case x402.ReasonValidBefore: // perhaps it is only too short
		header, err := r.newest(ctx)
		if err != nil {
			return false, err
		}
		return o.wire.CheckWindow(time.Unix(int64(header.Time), 0)) == reason, nil
	default:
		return false, nil
	}
}

// decideOrder keeps an outcome; the first one stands, but a settlement stands
// over a failure, and over one that was undone: money that moved is never denied.
func (r *Rail) decideOrder(ctx context.Context, o order, record authorizationRecord) (authorizationRecord, error) {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		now, found, err := read[authorizationRecord](tx, kindAuthorization, o.key)
		if err == nil && !found {
			err = fmt.Errorf("authorization %s: %w", o.key, errRecord)
		}
		if err != nil {
			return err
		}
		if (now.Settled != (common.Hash{}) && !now.Undone) || (now.decided() && record.Settled == (common.Hash{})) {
			record = now
			return nil
		}
		now.Settled, now.Failed, now.FailedHash, now.Undone = record.Settled, record.Failed, record.FailedHash, false
		if now.Settled != (common.Hash{}) {
			now.Failed = ""
		}
		record = now
		return write(tx, kindAuthorization, o.key, now)
	})
	if err != nil {
		return record, fmt.Errorf("store outcome: %w", err)
	}
	failpoint.Hit(failpoint.AuthorizationDecided)
	return record, nil
}

// tellOrder answers with what is decided, and lets one answer alone be the first.
func (r *Rail) tellOrder(ctx context.Context, o order, record authorizationRecord, s x402.Settlement) (x402.Settlement, error) {
	if record.Failed != "" || record.Undone {
		used, err := r.usedOrder(ctx, o.TransferAuthorization)
		if err != nil {
			return s, err
		}
		hash, err := common.Hash{}, error(nil)
		if used { // somebody else may have broadcast it since
			hash, err = r.findOrder(ctx, o.TransferAuthorization, record.Since)
		}
		var no *refusedError
		if err != nil && !errors.As(err, &no) {
			return s, err
		}
		if no != nil && no.reason == x402.ReasonPending {
			s.ErrorReason, s.ErrorMessage = no.reason, no.message
			return s, nil
		}
		if hash == (common.Hash{}) {
			s.ErrorReason, s.ErrorMessage = record.failure()
			return s, nil
		}
		record.Settled = hash
		if record, err = r.decideOrder(ctx, o, record); err != nil {
			return s, err
		}
	}
	return r.claimOrder(ctx, o, record, s)
}

// claimOrder answers that an authorization is settled: with success to one caller,
// and to that caller again if it has an idempotency key; as a duplicate to all others.
// A settlement that was undone is a failure for everybody.
func (r *Rail) claimOrder(ctx context.Context, o order, record authorizationRecord, s x402.Settlement) (x402.Settlement, error) {
	first := false
	claim := func(tx Tx) error {
		var err error
		if record, _, err = read[authorizationRecord](tx, kindAuthorization, o.key); err != nil {
			return err
		}
		if first = !record.Told && !record.Undone && (record.Caller == "" || record.Caller == o.caller); !first {
			return nil
		}
		record.Told, record.Caller = true, o.caller
		return write(tx, kindAuthorization, o.key, record)
	}
	if !record.Told {
		if err := r.config.Store.Update(ctx, claim); err != nil {
			return x402.Settlement{}, fmt.Errorf("store answer: %w", err)
		}
	}
	s.Transaction = record.Settled.Hex()
	switch {
	case record.Undone: // since this caller read it
		s.ErrorReason, s.ErrorMessage = record.failure()
	case first:
		failpoint.Hit(failpoint.AuthorizationAnswered)
		s.Success = true
	case record.Told && record.Caller != "" && record.Caller == o.caller:
		s.Success, s.Replayed = true, true
	default:
		s.ErrorReason, s.ErrorMessage = x402.ReasonDuplicate, "the authorization was settled by an earlier request"
	}
	return s, nil
}
