package devrail

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Wallet is a wallet of the development chain in an agent's hands.
func Wallet(w devchain.Wallet) *evm.Wallet {
	own, err := evm.NewWallet(evm.WalletConfig{Key: w.Key()})
	if err != nil { // its key is ours
		panic(err)
	}
	return own
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
