package evm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/x402"
)

// ErrRefundAmount reports typed data that would give back more than the caller allowed.
var ErrRefundAmount = errors.New("evm: the refund is above the given amount")

// Errors of [Wallet.SignRefund] for what is no refund to the payer.
var (
	ErrRefundTo     = errors.New("evm: the refund goes to another wallet")
	ErrRefundNonce  = errors.New("evm: the nonce is not that of a refund")
	ErrRefundExpiry = errors.New("evm: the refund could be made for too long")
)

// RefundNonce begins the nonces of refunds. No authorization with such a nonce pays for
// anything, so a signed refund cannot buy something from the payer meanwhile.
const RefundNonce = "\x5e\xed\x0f\xf0\xba\xc7\x00\x00"

// refundLifetime is how long a refund may wait at most: a day, and an hour for clocks that
// differ.
const refundLifetime = 25 * time.Hour

// RefundTerms are what a refund must comply with to be signed. They must come from the caller's
// own records, not from the refund that the service returned.
type RefundTerms struct {
	// MaxCents is the largest amount to sign, in US cents. Required.
	MaxCents int64
	// To is the address of the wallet that paid. If it is empty, the recipient is not checked.
	To string
	// Until is the latest time until which the refund may be made. Default: 25 hours from now.
	Until time.Time
}

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
// a transfer (EIP-3009) within the terms, out of this wallet, in the dollar token of
// [Wallet.Asset], with the nonce of a refund ([RefundNonce]).
//
// It returns [ErrNotMine] for another wallet, token or kind of message, [ErrRefundAmount],
// [ErrRefundTo] or [ErrRefundExpiry] beyond the terms, [ErrRefundNonce], and the errors of
// [ParseAuthorization] for malformed data.
func (w *Wallet) SignRefund(ctx context.Context, typedData []byte, terms RefundTerms) (string, error) {
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
	if err := terms.allow(t, asset.Decimals); err != nil {
		return "", err
	}
	return w.SignTransfer(ctx, chainID, asset, d.Message)
}

// allow reports why a transfer is not a refund within the terms, or returns nil.
func (terms RefundTerms) allow(t TransferAuthorization, decimals int) error {
	until := terms.Until
	if until.IsZero() {
		until = time.Now().Add(refundLifetime)
	}
	cents, unit := new(big.Int).Mul(t.Value.Big(), big.NewInt(100)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	switch {
	case cents.Cmp(unit.Mul(unit, big.NewInt(terms.MaxCents))) > 0:
		return ErrRefundAmount
	case terms.To != "" && t.To != common.HexToAddress(terms.To):
		return ErrRefundTo
	case !bytes.HasPrefix(t.Nonce[:], []byte(RefundNonce)):
		return ErrRefundNonce
	case t.ValidBefore.Big().Cmp(big.NewInt(until.Unix())) > 0:
		return ErrRefundExpiry
	}
	return nil
}
