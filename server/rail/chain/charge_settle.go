package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// errContradiction reports a chain and records that contradict each other. An operator
// must look into it.
var errContradiction = errors.New("chain: the chain contradicts the records")

// outOfGasPercent of the gas limit used means that a transaction ran out of gas.
const outOfGasPercent = 98

// settleCharge reads the state of a charge from the chain once, and records the outcome
// if it is final.
func (r *Rail) settleCharge(ctx context.Context, key string, record chargeRecord) (rail.Outcome, error) {
	s, found, err := r.relayer.SlotOf(ctx, chargeTask(key))
	if err != nil {
		return rail.Outcome{}, err
	}
	if !found { // another program used its nonce
		return r.rebroadcastUnderNewNonce(ctx, key, record)
	}
	state, receipt, err := r.relayer.Examine(ctx, s)
	if err != nil {
		return rail.Outcome{}, err
	}
	pending := pendingIn(s)
	switch state {
	case relayer.Final:
		final, err := r.chain.FinalFor(ctx, new(big.Int).SetUint64(record.Charge.Amount), receipt.BlockNumber.Uint64())
		if err != nil || !final {
			return pending, err
		}
		outcome, err := r.finalOutcome(ctx, record, s, receipt)
		if err != nil {
			return rail.Outcome{}, err
		}
		failpoint.Hit(failpoint.TransferLanded)
		r.budget.End(chargeTask(key), outcome.Status == rail.Refused && receipt.Status != types.ReceiptStatusSuccessful)
		return r.storeOutcome(ctx, key, outcome)
	case relayer.NonceTaken:
		if err := r.relayer.Close(ctx, s); err != nil {
			return rail.Outcome{}, err
		}
		return r.rebroadcastUnderNewNonce(ctx, key, record)
	case relayer.Included:
		return pending, nil
	case relayer.Waiting:
		fallthrough
	default:
		end, expired, err := r.chargeExpired(ctx, record)
		if err != nil {
			return rail.Outcome{}, err
		}
		if expired {
			return r.expireUnlessCharged(ctx, key, record, end)
		}
		return pending, r.relayer.Rebroadcast(ctx, s)
	}
}

// finalOutcome returns the outcome of a charge whose transaction is final.
func (r *Rail) finalOutcome(ctx context.Context, record chargeRecord, s relayer.Slot, receipt *types.Receipt) (rail.Outcome, error) {
	if receipt.Status == types.ReceiptStatusSuccessful && r.movedCharge(record, logsOf(receipt)) {
		return r.succeeded(ctx, receipt.TxHash, receipt.BlockNumber.Uint64())
	}
	hash, block, found, err := r.findCharge(ctx, record, receipt.BlockNumber.Uint64())
	if err != nil {
		return rail.Outcome{}, err
	}
	switch {
	case found:
		return r.succeeded(ctx, hash, block)
	case s.Canceled(receipt.TxHash):
		return refused(rail.Unavailable), nil
	case receipt.Status == types.ReceiptStatusSuccessful:
		return rail.Outcome{}, fmt.Errorf("transaction %s succeeded and moved nothing: %w", receipt.TxHash, errContradiction)
	case receipt.GasUsed*100 >= s.Gas*outOfGasPercent:
		return refused(rail.OutOfGas), nil
	}
	why, err := r.tokenRefusal(ctx, rail.Reverted, record.Owner, record.Charge.Payee)
	if errors.Is(err, errPaused) { // the transaction has failed, and its charge cannot succeed after the pause
		why, err = rail.Reverted, nil
	}
	return refused(why), err
}

// succeeded returns the outcome of a transaction in a block.
func (r *Rail) succeeded(ctx context.Context, hash common.Hash, block uint64) (rail.Outcome, error) {
	at, err := r.chain.TimeOf(ctx, block)
	if err != nil {
		return rail.Outcome{}, err
	}
	return rail.Outcome{Status: rail.Succeeded, TxHash: hash.Hex(), SettledAt: at}, nil
}

// chargeExpired reports whether a final block is later than the charge's deadline, and
// returns that block: a transaction that lands after it reverts.
func (r *Rail) chargeExpired(ctx context.Context, record chargeRecord) (end uint64, expired bool, err error) {
	head, err := r.chain.Newest(ctx)
	if err != nil {
		return 0, false, err
	}
	final, ok := r.chain.Final(head.Number.Uint64())
	if !ok {
		return 0, false, nil
	}
	header, err := r.chain.Header(ctx, final)
	if err != nil {
		return 0, false, err
	}
	return final, header.Time > record.Charge.Deadline, nil
}

// expireUnlessCharged refuses a charge that cannot land after a block, unless it landed
// up to that block.
func (r *Rail) expireUnlessCharged(ctx context.Context, key string, record chargeRecord, end uint64) (rail.Outcome, error) {
	outcome, found, err := r.foundOutcome(ctx, key, record, end)
	if err != nil || found {
		return outcome, err
	}
	return r.storeOutcome(ctx, key, refused(rail.Unavailable))
}

// foundOutcome records the success of a charge that a final transaction made, up to a
// block at least, and reports whether there is one.
func (r *Rail) foundOutcome(ctx context.Context, key string, record chargeRecord, end uint64) (rail.Outcome, bool, error) {
	hash, block, found, err := r.findCharge(ctx, record, end)
	if err != nil || !found {
		return rail.Outcome{}, false, err
	}
	outcome, err := r.succeeded(ctx, hash, block)
	if err != nil {
		return rail.Outcome{}, false, err
	}
	outcome, err = r.storeOutcome(ctx, key, outcome)
	return outcome, err == nil, err
}

// rebroadcastUnderNewNonce broadcasts a charge again whose nonce another program used.
// None of its transactions can land any more. Should one have landed, the reference
// still moves money once.
func (r *Rail) rebroadcastUnderNewNonce(ctx context.Context, key string, record chargeRecord) (rail.Outcome, error) {
	unlock, err := r.locks.lock(ctx, key)
	if err != nil {
		return rail.Outcome{}, err
	}
	defer unlock()
	if s, found, err := r.relayer.SlotOf(ctx, chargeTask(key)); err != nil || found { // another caller was faster
		return pendingIn(s), err
	}
	end, expired, err := r.chargeExpired(ctx, record)
	if err != nil {
		return rail.Outcome{}, err
	}
	if expired {
		return r.expireUnlessCharged(ctx, key, record, end)
	}
	if outcome, found, err := r.foundOutcome(ctx, key, record, end); err != nil || found {
		return outcome, err
	}
	grant, found, err := records.Load[grantRecord](ctx, r.config.Store, kindGrant, record.Charge.GrantID.Hex())
	if err != nil || !found {
		return rail.Outcome{}, errors.Join(err, records.ErrDamaged)
	}
	if len(grant.Sealed) == 0 { // revoked since
		return r.storeRefusalUnlessCharged(ctx, key, record, rail.Unavailable)
	}
	job, why, err := r.prepareCharge(ctx, grant, record.Charge)
	if err != nil {
		return rail.Outcome{}, err
	}
	if why != "" {
		return r.storeRefusalUnlessCharged(ctx, key, record, why)
	}
	job.Task = chargeTask(key)
	s, err := r.relayer.Submit(ctx, job)
	if err != nil {
		return rail.Outcome{}, err
	}
	r.config.Logger.WarnContext(ctx, "charge broadcast under another nonce", slog.Uint64("nonce", s.Nonce))
	return pendingIn(s), nil
}

// storeRefusalUnlessCharged refuses a charge that would not succeed any more, unless
// another instance has broadcast it: its transaction may be in a block that is not
// final.
func (r *Rail) storeRefusalUnlessCharged(ctx context.Context, key string, record chargeRecord, why rail.Reason) (rail.Outcome, error) {
	done, err := r.charged(ctx, record.Charge)
	if err != nil {
		return rail.Outcome{}, err
	}
	s, found, err := r.relayer.SlotOf(ctx, chargeTask(key))
	if err != nil || found || done {
		return pendingIn(s), err
	}
	return r.storeOutcome(ctx, key, refused(why))
}

// pendingIn returns the outcome of a charge that waits, with the newest transaction of
// its slot if there is one.
func pendingIn(s relayer.Slot) rail.Outcome {
	outcome := rail.Outcome{Status: rail.Pending}
	if h := s.Hash(); h != (common.Hash{}) {
		outcome.TxHash = h.Hex()
	}
	return outcome
}

// charged reports whether the router has made a charge, in any block.
func (r *Rail) charged(ctx context.Context, c evm.Charge) (bool, error) {
	call := r.router.PackCharged(c.GrantID, c.Ref, c.Payee, new(big.Int).SetUint64(c.Amount))
	done, err := eth.View(ctx, r.chain, r.config.Router, call, r.router.UnpackCharged)
	return done.Any, err
}
