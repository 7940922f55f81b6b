package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// awaitRefund reads the chain until the refund has ended or it is late; at least once.
func (r *Rail) awaitRefund(ctx context.Context, key string, record refundRecord, until time.Time) (rail.Outcome, error) {
	for {
		next := r.chain.NextBlock()
		outcome, err := r.followRefund(ctx, key, record)
		if err != nil || outcome.Status != rail.Pending {
			return outcome, err
		}
		late := !time.Now().Before(until)
		if r.stop == nil && late {
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

// followRefund reads the state of a refund from the chain once, and records the outcome if it
// is final. A pending outcome has a transaction if the rail has sent one.
func (r *Rail) followRefund(ctx context.Context, key string, record refundRecord) (rail.Outcome, error) {
	if record.Outcome != nil {
		return *record.Outcome, nil
	}
	t, err := record.transfer()
	if err != nil {
		return rail.Outcome{}, err
	}
	sent, hash, err := r.followRelayed(ctx, t)
	if err != nil {
		return rail.Outcome{}, err
	}
	pending := rail.Outcome{Status: rail.Pending}
	if hash != (common.Hash{}) {
		pending.TxHash = hash.Hex()
	}
	outcome, err := r.outcomeOfUse(ctx, t, record.Since)
	if err != nil || outcome.Status == rail.Pending {
		return pending, err
	}
	if outcome.Reason == rail.Expired && sent.Failed != "" {
		outcome.Reason = rail.Reverted
	}
	return r.storeRefundOutcome(ctx, key, outcome)
}

// followRelayed follows the transaction by which the relayer sends a refund, if there is one,
// and returns its record. After a transaction that reverted, another sender can still make
// the transfer.
func (r *Rail) followRelayed(ctx context.Context, t signedTransfer) (authorizationRecord, common.Hash, error) {
	key := authorizationKey(t.From, t.Nonce)
	sent, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found {
		return sent, common.Hash{}, err
	}
	if sent.decided() {
		return sent, cmp.Or(sent.Settled, sent.FailedHash), nil
	}
	a, err := sent.authorization(key)
	if err != nil {
		return sent, common.Hash{}, fmt.Errorf("authorization %s: %w", key, err)
	}
	sent, hash, err := r.followTransfer(ctx, a, sent)
	var no *refusedError
	if errors.As(err, &no) { // it cannot be sent again now
		return sent, hash, nil
	}
	return sent, hash, err
}

// unsignedOutcome returns the outcome of a refund after its signature was not accepted: the
// refusal, unless the chain or another call has the refund already.
func (r *Rail) unsignedOutcome(ctx context.Context, key string, record refundRecord, cause error) (rail.Outcome, error) {
	if errors.Is(cause, errPaused) || errors.Is(cause, errNoGas) {
		return rail.Outcome{}, &rail.RefusedError{Reason: rail.Unavailable}
	}
	var no *refusedError
	if !errors.As(cause, &no) {
		return rail.Outcome{}, cause
	}
	why := map[x402.Reason]rail.Reason{
		x402.ReasonInsufficientFunds: rail.InsufficientFunds, ReasonBlocked: rail.WalletBlocked,
		x402.ReasonValidBefore: rail.Expired, ReasonSimulation: rail.Reverted,
	}
	switch no.reason {
	case x402.ReasonSignature:
		return rail.Outcome{}, rail.ErrSignature
	case x402.ReasonNonceUsed, x402.ReasonPending:
		return r.followRefund(ctx, key, record)
	default:
		return rail.Outcome{}, &rail.RefusedError{Reason: cmp.Or(why[no.reason], rail.Unavailable)}
	}
}
