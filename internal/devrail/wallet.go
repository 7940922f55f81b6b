package devrail

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Wallet is a funded wallet of the development chain, in an agent's hands: it
// implements agent.Wallet.
type Wallet struct{ devchain.Wallet }

// Address is the wallet's address.
func (w Wallet) Address() string { return w.Wallet.Address.Hex() }

// Asset is the dollar that the wallet has on a chain.
func (Wallet) Asset(chainID int64) (x402.Asset, bool) { return x402.USDC(chainID) }

// SignTransfer signs an authorization (EIP-3009). An error where it is malformed.
func (w Wallet) SignTransfer(_ context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error) {
	t, err := evm.ParseAuthorization(a)
	if err != nil {
		return "", err
	}
	domain := evm.Domain{
		Name: asset.Name, Version: asset.Version, ChainID: uint64(chainID), Contract: common.HexToAddress(asset.Address),
	}
	signature, err := evm.Sign(evm.Digest(domain.Separator(), t), w.Key())
	return "0x" + hex.EncodeToString(signature), err
}

// BlockOf is the number of the block that a transaction succeeded in. An error
// where it did not.
func (d *Dev) BlockOf(ctx context.Context, txHash string) (*big.Int, error) {
	r, err := d.Client().TransactionReceipt(ctx, common.HexToHash(txHash))
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	if r.Status != 1 {
		return nil, errors.New("the transaction failed")
	}
	return r.BlockNumber, nil
}
