package devchain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
)

// deploy puts the router on the chain, in its first block, and names its operators.
func (c *Chain) deploy() error {
	admin := Admin()
	address := Router()
	router := contracts.NewMandateRouter()
	code := append(common.FromHex(contracts.MandateRouterMetaData.Bin), router.PackConstructor(admin.Address)...)
	transactions := []*types.DynamicFeeTx{
		{Gas: 5_000_000, Data: code},
		{Gas: 100_000, To: &address, Data: router.PackSetOperator(Operator().Address, true)},
		{Gas: 100_000, To: &address, Data: router.PackSetOperator(Relayer().Address, true)},
	}
	var last *types.Transaction
	for nonce, tx := range transactions {
		tx.Nonce = uint64(nonce)
		signed, err := sign(admin.key, tx)
		if err != nil {
			return err
		}
		if err := c.client.SendTransaction(context.Background(), signed); err != nil {
			return fmt.Errorf("send deployment: %w", err)
		}
		last = signed
	}
	receipt, err := c.receipt(last.Hash())
	if err != nil {
		return fmt.Errorf("deploy router: %w", err)
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		return errors.New("deploy router: operator not set")
	}
	return nil
}

// receipt makes blocks until a transaction is in one. The node's index of
// transactions starts a moment after it, so that it may not be found at once.
func (c *Chain) receipt(hash common.Hash) (receipt *types.Receipt, err error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		c.commitWaiting()
		if receipt, err = c.client.TransactionReceipt(context.Background(), hash); err == nil {
			return receipt, nil
		}
		<-tick.C
	}
	return nil, err
}

func sign(key *ecdsa.PrivateKey, tx *types.DynamicFeeTx) (*types.Transaction, error) {
	tx.ChainID = big.NewInt(ChainID)
	tx.GasTipCap, tx.GasFeeCap = big.NewInt(1_000_000_000), big.NewInt(100_000_000_000)
	signed, err := types.SignNewTx(key, types.LatestSignerForChainID(tx.ChainID), tx)
	if err != nil {
		return nil, fmt.Errorf("sign transaction: %w", err)
	}
	return signed, nil
}
