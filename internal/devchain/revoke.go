package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
)

// RevokeNewest has the owner of the newest grant revoke it on the router, as a
// wallet does without asking anybody. It returns the owner and the transaction.
func (c *Chain) RevokeNewest(ctx context.Context) (owner common.Address, txHash common.Hash, err error) {
	router := contracts.NewMandateRouter()
	logs, err := c.client.FilterLogs(ctx, ethereum.FilterQuery{Addresses: []common.Address{c.Router()}})
	if err != nil {
		return owner, txHash, fmt.Errorf("read grants: %w", err)
	}
	var newest *contracts.MandateRouterMandateGranted
	for i := range logs {
		if granted, err := router.UnpackMandateGrantedEvent(&logs[i]); err == nil {
			newest = granted
		}
	}
	if newest == nil {
		return owner, txHash, errors.New("devchain: there is no grant to revoke")
	}
	txHash, err = c.Revoke(ctx, newest.Owner, newest.GrantId)
	return newest.Owner, txHash, err
}

// Revoke has the owner of a grant, one of [Wallets], revoke it on the router. The
// transaction need not be in a block yet.
func (c *Chain) Revoke(ctx context.Context, owner common.Address, grantID common.Hash) (txHash common.Hash, err error) {
	for _, w := range Wallets() {
		if w.Address == owner {
			return c.send(ctx, w, c.Router(), contracts.NewMandateRouter().PackRevoke(grantID))
		}
	}
	return txHash, fmt.Errorf("devchain: no wallet of ours is %s", owner)
}

// send signs and sends a call.
func (c *Chain) send(ctx context.Context, from Wallet, to common.Address, data []byte) (common.Hash, error) {
	nonce, err := c.client.PendingNonceAt(ctx, from.Address)
	if err != nil {
		return common.Hash{}, fmt.Errorf("read nonce: %w", err)
	}
	price, err := c.client.SuggestGasPrice(ctx)
	if err != nil {
		return common.Hash{}, fmt.Errorf("read gas price: %w", err)
	}
	gas, err := c.client.EstimateGas(ctx, ethereum.CallMsg{From: from.Address, To: &to, Data: data})
	if err != nil {
		return common.Hash{}, fmt.Errorf("estimate gas: %w", err)
	}
	id := big.NewInt(ChainID)
	tx, err := types.SignNewTx(from.key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, GasTipCap: price, GasFeeCap: new(big.Int).Lsh(price, 1), Gas: gas, To: &to, Data: data,
	})
	if err != nil {
		return common.Hash{}, fmt.Errorf("sign: %w", err)
	}
	return tx.Hash(), c.client.SendTransaction(ctx, tx)
}
