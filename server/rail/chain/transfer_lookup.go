package chain

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

var _ rail.TransferReader = (*Rail)(nil)

// SettledTransfer implements [rail.TransferReader]. It finds a transfer if a final block
// has it and the rail settled it for the resource. It returns an error if the chain or
// the store does not answer.
func (r *Rail) SettledTransfer(ctx context.Context, q rail.TransferQuery) (rail.Transfer, bool, error) {
	hash, ok := parseHash(q.TxHash)
	if !ok {
		return rail.Transfer{}, false, nil
	}
	receipt, err := r.chain.Receipt(ctx, hash)
	if err != nil || receipt == nil {
		return rail.Transfer{}, false, err
	}
	head, err := r.chain.Head(ctx)
	if err != nil {
		return rail.Transfer{}, false, err
	}
	final, ok := r.chain.Final(head)
	if !ok || receipt.BlockNumber.Uint64() > final || receipt.Status != types.ReceiptStatusSuccessful {
		return rail.Transfer{}, false, nil
	}
	var best rail.Transfer
	found := false
	for i := range len(receipt.Logs) - 1 { // the use of a nonce, and right after it the transfer
		t, ok, err := r.settledAt(ctx, receipt.Logs[i], receipt.Logs[i+1], q)
		if err != nil {
			return rail.Transfer{}, false, err
		}
		if ok && (!found || t.Differs == "") {
			best, found = t, true
		}
	}
	if !found {
		return rail.Transfer{}, false, nil
	}
	best.SettledAt, err = r.chain.TimeOf(ctx, receipt.BlockNumber.Uint64())
	return best, err == nil, err
}

// settledAt returns the settled transfer that one pair of the token's logs shows, and
// reports whether there is one.
func (r *Rail) settledAt(ctx context.Context, first, second *types.Log, q rail.TransferQuery) (rail.Transfer, bool, error) {
	if first.Address != r.config.Token.Address || second.Address != r.config.Token.Address {
		return rail.Transfer{}, false, nil
	}
	used, usedErr := r.token.UnpackAuthorizationUsedEvent(first)
	moved, movedErr := r.token.UnpackTransferEvent(second)
	if usedErr != nil || movedErr != nil || used.Authorizer != moved.From {
		return rail.Transfer{}, false, nil //nolint:nilerr // other events
	}
	record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, authorizationKey(used.Authorizer, used.Nonce))
	if err != nil || !found || record.Settled != first.TxHash {
		return rail.Transfer{}, false, err
	}
	t := rail.Transfer{Payer: used.Authorizer.Hex()}
	switch {
	case moved.To != common.HexToAddress(q.PayTo):
		t.Differs = "payTo"
	case moved.Value.Cmp(big.NewInt(int64(q.Amount))) != 0:
		t.Differs = "amount"
	case record.Resource != fingerprint(q.Resource):
		t.Differs = "resource"
	}
	return t, true, nil
}
