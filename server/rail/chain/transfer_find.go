package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/x402"
)

// findTransfer returns the final transaction that made exactly this transfer, of any
// sender. The authorization must have been recorded, unused, when since was the newest
// block: anyone can copy a used one from the chain. findTransfer returns a
// [*refusedError] if there is no such transaction, with [x402.ReasonPending] if there
// is one that is not final.
func (r *Rail) findTransfer(ctx context.Context, t signedTransfer, since uint64) (common.Hash, error) {
	if t.permit != nil { // only the relayer can settle a permit, and its transactions are known
		return common.Hash{}, refuseAuthorization(x402.ReasonUptoNonce, "the permit's nonce was used, and not for this payment")
	}
	head, err := r.chain.Head(ctx)
	if err != nil {
		return common.Hash{}, err
	}
	final, _ := r.chain.Final(head)
	since -= min(since, relayer.WatchedDepth) // a reorganization can move the transfer to a lower block
	since = max(since, head-min(head, r.config.Authorizations.Lookback))
	logs, err := r.findUses(ctx, t, since, head)
	if err != nil {
		return common.Hash{}, err
	}
	for _, l := range logs {
		receipt, err := r.config.RPC.TransactionReceipt(ctx, l.TxHash)
		if err != nil {
			return common.Hash{}, fmt.Errorf("read receipt of %s: %w", l.TxHash, err)
		}
		if l.Removed || !r.madeTransfer(receipt, t) {
			continue
		}
		enough, err := r.chain.FinalFor(ctx, t.Value.Big(), l.BlockNumber)
		if err != nil {
			return common.Hash{}, err
		}
		if l.BlockNumber > final || !enough {
			return common.Hash{}, refuseAuthorization(x402.ReasonPending, "the transfer is in block %d, which is not final", l.BlockNumber)
		}
		return l.TxHash, nil
	}
	return common.Hash{}, refuseAuthorization(x402.ReasonNonceUsed, "the authorization was used, and not for this transfer")
}

// findUses returns the token's events of the use or cancellation of an authorization in a
// range of blocks. Of each nonce a chain has one.
func (r *Rail) findUses(ctx context.Context, t signedTransfer, first, last uint64) ([]types.Log, error) {
	used := crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
	canceled := crypto.Keccak256Hash([]byte("AuthorizationCanceled(address,bytes32)"))
	for ; first <= last; first += watchSpan {
		logs, err := r.config.RPC.FilterLogs(ctx, ethereum.FilterQuery{
			FromBlock: new(big.Int).SetUint64(first), ToBlock: new(big.Int).SetUint64(min(first+watchSpan-1, last)),
			Addresses: []common.Address{r.config.Token.Address},
			Topics:    [][]common.Hash{{used, canceled}, {common.BytesToHash(t.From[:])}, {t.Nonce}},
		})
		if err != nil {
			return nil, fmt.Errorf("look for transfer: %w", err)
		}
		if len(logs) > 0 {
			return logs, nil
		}
	}
	return nil, nil
}

// madeTransfer reports whether a transaction made a transfer: the token's event of the
// nonce's use, and right after it the event of exactly the amount from payer to payee. A
// transaction may make several transfers, so the two events must be neighbors. The
// transaction of a permit must be that which the relayer sent for it.
func (r *Rail) madeTransfer(receipt *types.Receipt, t signedTransfer) bool {
	if receipt.Status != types.ReceiptStatusSuccessful {
		return false
	}
	if t.permit != nil {
		return r.madeUpto(receipt, t)
	}
	for i := range len(receipt.Logs) - 1 {
		used, moved := receipt.Logs[i], receipt.Logs[i+1]
		if used.Address != r.config.Token.Address || moved.Address != r.config.Token.Address {
			continue
		}
		u, err := r.token.UnpackAuthorizationUsedEvent(used)
		if err != nil || u.Authorizer != t.From || u.Nonce != t.Nonce {
			continue
		}
		m, err := r.token.UnpackTransferEvent(moved)
		if err == nil && m.From == t.From && m.To == t.To && m.Value.Cmp(t.Value.Big()) == 0 {
			return true
		}
	}
	return false
}
