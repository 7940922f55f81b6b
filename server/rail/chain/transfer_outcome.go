package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// awaitSettlement reads the chain until the authorization has an outcome or it is late.
func (r *Rail) awaitSettlement(ctx context.Context, a authorization, record authorizationRecord, s x402.Settlement, until time.Time) (x402.Settlement, error) {
	for {
		next := r.chain.NextBlock()
		var pending common.Hash
		var err error
		if !record.decided() {
			if record, pending, err = r.followTransfer(ctx, a, record); err != nil {
				return s, err
			}
		}
		if record.decided() {
			return r.answer(ctx, a, record, s)
		}
		late := !time.Now().Before(until)
		if r.stop == nil && late {
			r.tendOnce(ctx)
		}
		if late {
			s.ErrorReason, s.Transaction = x402.ReasonPending, pending.Hex()
			return s, a.end(ctx, record, rail.Outcome{Status: rail.Pending})
		}
		if err := eth.Pause(ctx, next, min(r.config.Poll, time.Until(until))); err != nil {
			return s, err
		}
	}
}

// followTransfer reads the state of an authorization from the chain once, and records
// the outcome if it is final.
func (r *Rail) followTransfer(ctx context.Context, a authorization, record authorizationRecord) (authorizationRecord, common.Hash, error) {
	s, found, err := r.relayer.SlotOf(ctx, authorizationTask(a.key))
	if err != nil {
		return record, common.Hash{}, err
	}
	if !found {
		return r.resubmit(ctx, a, record)
	}
	state, receipt, err := r.relayer.Examine(ctx, s)
	if err != nil {
		return record, common.Hash{}, err
	}
	pending := s.Hash()
	switch state {
	case relayer.Final:
		final, err := r.chain.FinalFor(ctx, a.Value.Big(), receipt.BlockNumber.Uint64())
		if err != nil || !final {
			return record, receipt.TxHash, err
		}
		record, err = r.concludeTransfer(ctx, a, record, receipt)
		return record, pending, err
	case relayer.NonceTaken:
		if err := r.relayer.Close(ctx, s); err != nil {
			return record, pending, err
		}
		return r.resubmit(ctx, a, record)
	case relayer.Included:
		return record, receipt.TxHash, nil
	case relayer.Waiting:
		fallthrough
	default:
		return record, pending, r.relayer.Rebroadcast(ctx, s)
	}
}

// concludeTransfer records the outcome of the relayer's own final transaction.
func (r *Rail) concludeTransfer(ctx context.Context, a authorization, record authorizationRecord, receipt *types.Receipt) (authorizationRecord, error) {
	failpoint.Hit(failpoint.AuthorizationLanded)
	if receipt.Status == types.ReceiptStatusSuccessful && r.madeTransfer(receipt, a.signedTransfer) {
		r.budget.End(authorizationTask(a.key), false)
		record.Settled = receipt.TxHash
		return r.storeSettlement(ctx, a, record)
	}
	hash, err := r.findTransfer(ctx, a.signedTransfer, record.Since)
	var no *refusedError
	switch {
	case err == nil:
		record.Settled = hash
	case errors.As(err, &no) && no.reason == x402.ReasonPending:
		return record, nil
	case errors.As(err, &no):
		r.budget.End(authorizationTask(a.key), receipt.Status != types.ReceiptStatusSuccessful)
		record.Failed, record.FailedHash = x402.ReasonTransactionState, receipt.TxHash
	default:
		return record, err
	}
	return r.storeSettlement(ctx, a, record)
}

// resubmit submits an authorization again after another program used the nonce of its
// transaction.
func (r *Rail) resubmit(ctx context.Context, a authorization, record authorizationRecord) (authorizationRecord, common.Hash, error) {
	unlock, err := r.locks.lock(ctx, authorizationTask(a.key))
	if err != nil {
		return record, common.Hash{}, err
	}
	defer unlock()
	if s, found, err := r.relayer.SlotOf(ctx, authorizationTask(a.key)); err != nil || found { // another caller was faster
		return record, s.Hash(), err
	}
	fresh, err := r.submit(ctx, a, &record)
	var no *refusedError
	if errors.As(err, &no) && no.reason != x402.ReasonPending {
		if s, found, err := r.relayer.SlotOf(ctx, authorizationTask(a.key)); err != nil || found { // another instance was
			return record, s.Hash(), err
		}
		permanent, err := r.isPermanent(ctx, a, no.reason)
		if err != nil || !permanent {
			return record, common.Hash{}, cmp.Or[error](err, no)
		}
		record.Failed = no.reason
		record, err = r.storeSettlement(ctx, a, record)
		return record, common.Hash{}, err
	}
	if err != nil {
		return record, common.Hash{}, err
	}
	if fresh.Settled != (common.Hash{}) {
		record.Settled = fresh.Settled
		record, err = r.storeSettlement(ctx, a, record)
	}
	s, _, slotErr := r.relayer.SlotOf(ctx, authorizationTask(a.key))
	if err = errors.Join(err, slotErr); err != nil || s.Hash() == (common.Hash{}) {
		return record, record.Settled, err
	}
	return record, s.Hash(), nil
}

// isPermanent reports whether a refusal cannot change. Others are returned and not
// recorded: balances, budgets and a paused token change, and a later call settles the
// authorization then.
func (r *Rail) isPermanent(ctx context.Context, a authorization, reason x402.Reason) (bool, error) {
	switch reason {
	case a.reason(x402.ReasonSignature), a.reason(x402.ReasonRecipient), a.reason(x402.ReasonNonceUsed):
		return true, nil
	case a.reason(x402.ReasonValidBefore): // the window may be open, and only too short
		header, err := r.chain.Newest(ctx)
		if err != nil {
			return false, err
		}
		return a.wire.CheckWindow(eth.Time(header)) == x402.ReasonValidBefore, nil
	default:
		return false, nil
	}
}

// storeSettlement records an outcome. The first one stands, but a settlement replaces a
// failure or a settlement that was undone: money that moved is never denied.
func (r *Rail) storeSettlement(ctx context.Context, a authorization, record authorizationRecord) (authorizationRecord, error) {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		now, found, err := records.Get[authorizationRecord](tx, kindAuthorization, a.key)
		if err == nil && !found {
			err = fmt.Errorf("authorization %s: %w", a.key, records.ErrDamaged)
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
		return records.Put(tx, kindAuthorization, a.key, now)
	})
	if err != nil {
		return record, fmt.Errorf("store outcome: %w", err)
	}
	failpoint.Hit(failpoint.AuthorizationDecided)
	return record, nil
}

// answer returns the recorded outcome. A failure is checked again first, since another
// sender may have broadcast the authorization after it was recorded.
func (r *Rail) answer(ctx context.Context, a authorization, record authorizationRecord, s x402.Settlement) (x402.Settlement, error) {
	record, err := r.checkFailure(ctx, a, record)
	var no *refusedError
	switch {
	case errors.As(err, &no):
		s.ErrorReason, s.ErrorMessage = no.reason, no.message
		return s, nil
	case err != nil:
		return s, err
	case record.Failed != "" || record.Undone:
		s.ErrorReason, s.ErrorMessage = record.failure()
		return s, a.end(ctx, record, record.outcome())
	}
	return r.answerSettled(ctx, a, record, s)
}

// checkFailure looks for the transfer of an authorization that has failed or was undone,
// and records the transaction that made it after all. It returns a [*refusedError] with
// [x402.ReasonPending] if that transaction is not final.
func (r *Rail) checkFailure(ctx context.Context, a authorization, record authorizationRecord) (authorizationRecord, error) {
	if record.Failed == "" && !record.Undone {
		return record, nil
	}
	used, err := r.isUsed(ctx, a.signedTransfer)
	if err != nil || !used {
		return record, err
	}
	hash, err := r.findTransfer(ctx, a.signedTransfer, record.Since)
	var no *refusedError
	switch {
	case errors.As(err, &no) && no.reason != x402.ReasonPending:
		return record, nil
	case err != nil:
		return record, err
	}
	record.Settled = hash
	return r.storeSettlement(ctx, a, record)
}

// answerSettled returns a settlement as a success to one caller, and to that caller
// again if it has an idempotency key. All others get a duplicate. A settlement that was
// undone is a failure for every caller.
func (r *Rail) answerSettled(ctx context.Context, a authorization, record authorizationRecord, s x402.Settlement) (x402.Settlement, error) {
	first := false
	claim := func(tx Tx) error {
		var err error
		if record, _, err = records.Get[authorizationRecord](tx, kindAuthorization, a.key); err != nil {
			return err
		}
		if first = !record.Answered && !record.Undone && (record.Caller == "" || record.Caller == a.caller); !first {
			return nil
		}
		record.Answered, record.Caller = true, a.caller
		return records.Put(tx, kindAuthorization, a.key, record)
	}
	if !record.Answered {
		if err := a.end(ctx, record, record.outcome()); err != nil {
			return x402.Settlement{}, err
		}
		if err := r.config.Store.Update(ctx, claim); err != nil {
			return x402.Settlement{}, fmt.Errorf("store answer: %w", err)
		}
	}
	if !record.Waived {
		s.Transaction = record.Settled.Hex()
	}
	if a.permit != nil {
		s.Amount = record.Authorization.Value
	}
	switch {
	case record.Undone: // since this caller read the record
		s.ErrorReason, s.ErrorMessage = record.failure()
	case first:
		failpoint.Hit(failpoint.AuthorizationAnswered)
		s.Success = true
	case record.Answered && record.Caller != "" && record.Caller == a.caller:
		s.Success, s.Replayed = true, true
	default:
		s.ErrorReason, s.ErrorMessage = x402.ReasonDuplicate, "the authorization was settled by an earlier request"
	}
	return s, nil
}
