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

// Wallet returns a wallet of the development chain for an agent.
func Wallet(w devchain.Wallet) *evm.Wallet {
	own, err := evm.NewWallet(evm.WalletConfig{Key: w.Key()})
	if err != nil { // its key is ours
		panic(err)
	}
	return own
}

// BlockOf returns the number of the block that has a transaction, and an error if the
// transaction failed.
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
