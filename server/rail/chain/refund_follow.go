package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
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
	used, err := r.isUsed(ctx, t)
	if err != nil {
		return rail.Outcome{}, err
	}
	if used {
		return r.concludeUsed(ctx, key, record, t, pending)
	}
	end, expired, err := r.refundExpired(ctx, t)
	if err != nil || !expired {
		return pending, err
	}
	used, err = eth.ViewAt(ctx, r.chain, new(big.Int).SetUint64(end), r.config.Token.Address,
		r.token.PackAuthorizationState(t.From, t.Nonce), r.token.UnpackAuthorizationState)
	if err != nil || used {
		return pending, err
	}
	why := rail.Expired
	if sent.Failed != "" {
		why = rail.Reverted
	}
	return r.storeRefundOutcome(ctx, key, refused(why))
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

// concludeUsed records the outcome of a refund whose authorization was used or canceled, once
// that is final. Without the event the node is behind, and the refund stays pending.
func (r *Rail) concludeUsed(
	ctx context.Context, key string, record refundRecord, t signedTransfer, pending rail.Outcome,
) (rail.Outcome, error) {
	head, err := r.chain.Head(ctx)
	if err != nil {
		return rail.Outcome{}, err
	}
	logs, err := r.findUses(ctx, t, record.Since-min(record.Since, relayer.WatchedDepth), head)
	if err != nil {
		return rail.Outcome{}, err
	}
	final, ok := r.chain.Final(head)
	for _, l := range logs {
		enough, err := r.chain.FinalFor(ctx, t.Value.Big(), l.BlockNumber)
		if err != nil {
			return rail.Outcome{}, err
		}
		if l.Removed || !ok || l.BlockNumber > final || !enough {
			continue
		}
		receipt, err := r.chain.Receipt(ctx, l.TxHash)
		switch {
		case err != nil:
			return rail.Outcome{}, err
		case receipt == nil || receipt.Status != types.ReceiptStatusSuccessful:
		case r.madeTransfer(receipt, t):
			outcome, err := r.succeeded(ctx, l.TxHash, l.BlockNumber)
			if err != nil {
				return rail.Outcome{}, err
			}
			return r.storeRefundOutcome(ctx, key, outcome)
		default: // the payee's wallet used the nonce for something else, or canceled it
			return r.storeRefundOutcome(ctx, key, refused(rail.Reverted))
		}
	}
	return pending, nil
}

// refundExpired reports whether the window of a refund has passed in a final block, and
// returns that block.
func (r *Rail) refundExpired(ctx context.Context, t signedTransfer) (end uint64, expired bool, err error) {
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
	return final, new(big.Int).SetUint64(header.Time).Cmp(t.ValidBefore.Big()) >= 0, nil
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
