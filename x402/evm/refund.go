package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/paywarrant/paywarrant/x402"
)

// ErrRefundAmount reports typed data that would give back more than the caller allowed.
var ErrRefundAmount = errors.New("evm: the refund is above the given amount")

// refundData is the part of a refund's typed data that differs from one to another.
type refundData struct {
	PrimaryType string `json:"primaryType"`
	Domain      struct {
		ChainID           string `json:"chainId"`
		VerifyingContract string `json:"verifyingContract"`
	} `json:"domain"`
	Message x402.Authorization `json:"message"`
}

// SignRefund signs the typed data of a refund on the chain, which client.Refund returns, and
// returns the signature for client.SignRefund. It signs nothing else: the typed data must be
// a transfer (EIP-3009) of at most maxCents, in US cents, out of this wallet, in the dollar
// token of [Wallet.Asset]. It does not check who receives the money: that is the wallet that
// paid, as the service says.
//
// It returns [ErrNotMine] for another wallet, token or kind of message, [ErrRefundAmount] for a
// larger amount, and the errors of [ParseAuthorization] for malformed data.
func (w *Wallet) SignRefund(ctx context.Context, typedData []byte, maxCents int64) (string, error) {
	var d refundData
	if err := json.Unmarshal(typedData, &d); err != nil {
		return "", fmt.Errorf("evm: typed data of a refund: %w", err)
	}
	chainID, err := strconv.ParseInt(d.Domain.ChainID, 10, 64)
	if err != nil {
		return "", fmt.Errorf("evm: domain.chainId: %w", ErrNumber)
	}
	asset, ok := w.Asset(chainID)
	if !ok || d.PrimaryType != "TransferWithAuthorization" || !x402.SameAddress(d.Domain.VerifyingContract, asset.Address) {
		return "", ErrNotMine
	}
	t, err := ParseAuthorization(d.Message)
	if err != nil {
		return "", err
	}
	cents, unit := new(big.Int).Mul(t.Value.Big(), big.NewInt(100)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(asset.Decimals)), nil)
	if cents.Cmp(unit.Mul(unit, big.NewInt(maxCents))) > 0 {
		return "", ErrRefundAmount
	}
	return w.SignTransfer(ctx, chainID, asset, d.Message)
}
