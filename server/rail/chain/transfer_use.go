package chain

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
)

// outcomeOfUse returns the outcome of a signed transfer that anyone may submit, if it was
// signed when since was the newest block: Succeeded once a final block has exactly this
// transfer, Refused as [rail.Reverted] once one has another use or the cancellation of its
// nonce, Refused as [rail.Expired] once its window has passed unused in a final block, and
// Pending until then.
func (r *Rail) outcomeOfUse(ctx context.Context, t signedTransfer, since uint64) (rail.Outcome, error) {
	pending := rail.Outcome{Status: rail.Pending}
	used, err := r.isUsed(ctx, t)
	if err != nil {
		return rail.Outcome{}, err
	}
	if used {
		return r.finalUse(ctx, t, since-min(since, relayer.WatchedDepth))
	}
	end, expired, err := r.windowPassed(ctx, t)
	if err != nil || !expired {
		return pending, err
	}
	used, err = eth.ViewAt(ctx, r.chain, new(big.Int).SetUint64(end), r.config.Token.Address,
		r.token.PackAuthorizationState(t.From, t.Nonce), r.token.UnpackAuthorizationState)
	if err != nil || used {
		return pending, err
	}
	return refused(rail.Expired), nil
}

// finalUse returns the outcome of an authorization that was used or canceled, once that is
// final. Without the event the node is behind, and the outcome stays pending.
func (r *Rail) finalUse(ctx context.Context, t signedTransfer, first uint64) (rail.Outcome, error) {
	pending := rail.Outcome{Status: rail.Pending}
	head, err := r.chain.Head(ctx)
	if err != nil {
		return rail.Outcome{}, err
	}
	logs, err := r.findUses(ctx, t, first, head)
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
			return r.succeeded(ctx, l.TxHash, l.BlockNumber)
		default: // the signer used the nonce for something else, or canceled it
			return refused(rail.Reverted), nil
		}
	}
	return pending, nil
}

// windowPassed reports whether the window of a transfer has passed in a final block, and
// returns that block.
func (r *Rail) windowPassed(ctx context.Context, t signedTransfer) (end uint64, passed bool, err error) {
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
