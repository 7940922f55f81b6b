package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
)

// SettledTransfer implements [rail.TransferReader]: the chain must hold the
// transfer, at the depth that is final, and the rail must have settled it for the
// resource. An error where the chain or the store does not tell.
func (r *Rail) SettledTransfer(ctx context.Context, q rail.TransferQuery) (rail.Transfer, bool, error) {
	hash, ok := parseHash(q.TxHash)
	if !ok {
		return rail.Transfer{}, false, nil
	}
	receipt, err := r.config.RPC.TransactionReceipt(ctx, hash)
	if errors.Is(err, ethereum.NotFound) {
		return rail.Transfer{}, false, nil
	}
	if err != nil {
		return rail.Transfer{}, false, fmt.Errorf("read receipt of %s: %w", hash, err)
	}
	head, err := r.config.RPC.BlockNumber(ctx)
	if err != nil {
		return rail.Transfer{}, false, fmt.Errorf("read newest block: %w", err)
	}
	deep, ok := r.confirmed(head)
	if !ok || receipt.BlockNumber.Uint64() > deep || receipt.Status != types.ReceiptStatusSuccessful {
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
	best.SettledAt, err = r.timeOf(ctx, receipt.BlockNumber)
	return best, err == nil, err
}

// settledAt reads one pair of the token's logs.
func (r *Rail) settledAt(ctx context.Context, first, second *types.Log, q rail.TransferQuery) (rail.Transfer, bool, error) {
	if first.Address != r.config.Token.Address || second.Address != r.config.Token.Address {
		return rail.Transfer{}, false, nil
	}
	used, errUsed := r.token.UnpackAuthorizationUsedEvent(first)
	moved, errMoved := r.token.UnpackTransferEvent(second)
	if errUsed != nil || errMoved != nil || used.Authorizer != moved.From {
		return rail.Transfer{}, false, nil //nolint:nilerr // logs of something else
	}
	key := hex.EncodeToString(crypto.Keccak256(used.Authorizer[:], used.Nonce[:]))
	record, found, err := view[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found || record.Settled != first.TxHash {
		return rail.Transfer{}, false, err
	}
	t := rail.Transfer{Payer: used.Authorizer.Hex()}
	switch {
	case moved.To != common.HexToAddress(q.PayTo):
		t.Differs = "payTo"
	case moved.Value.Cmp(big.NewInt(int64(q.Amount))) != 0:
		t.Differs = "amount"
	case record.Resource != printOf(q.Resource):
		t.Differs = "resource"
	}
	return t, true, nil
}

func (r *Rail) timeOf(ctx context.Context, block *big.Int) (time.Time, error) {
	header, err := r.config.RPC.HeaderByNumber(ctx, block)
	if err != nil {
		return time.Time{}, fmt.Errorf("read block %s: %w", block, err)
	}
	return time.Unix(int64(header.Time), 0).UTC(), nil
}

var _ rail.TransferReader = (*Rail)(nil)
