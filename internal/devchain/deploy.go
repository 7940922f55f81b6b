package devchain

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"

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
	for nonce, tx := range transactions {
		tx.Nonce = uint64(nonce)
		signed, err := sign(admin.key, tx)
		if err != nil {
			return err
		}
		if err := c.submit(signed); err != nil {
			return fmt.Errorf("send deployment: %w", err)
		}
	}
	if _, err := c.Commit(); err != nil {
		return fmt.Errorf("deploy router: %w", err)
	}
	receipts := c.newest().receipts
	if len(receipts) != len(transactions) {
		return fmt.Errorf("deploy router: %d of %d transactions are in the block", len(receipts), len(transactions))
	}
	for i, receipt := range receipts {
		if receipt.Status != types.ReceiptStatusSuccessful {
			return fmt.Errorf("deploy router: transaction %d failed", i)
		}
	}
	return nil
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
