// Package onchain reads a test chain for package conformance, and sends transactions to it.
//
//	chain, err := onchain.New(ctx, "http://127.0.0.1:8545", key)
//	defer chain.Close()
package onchain

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// chainID is that of Base Sepolia, and of the development chain.
const chainID = 84532

// Chain implements conformance.Chain over JSON-RPC.
type Chain struct {
	node *ethclient.Client
	key  *ecdsa.PrivateKey
}

// New returns a Chain whose transactions are paid by an account that holds test ether. It
// returns an error if the node serves another chain than Base Sepolia.
func New(ctx context.Context, rpcURL string, key *ecdsa.PrivateKey) (*Chain, error) {
	node, err := ethclient.DialContext(ctx, rpcURL)
	if err != nil {
		return nil, fmt.Errorf("onchain: %w", err)
	}
	id, err := node.ChainID(ctx)
	if err == nil && id.Cmp(big.NewInt(chainID)) != 0 {
		err = fmt.Errorf("the chain is %v, not %d", id, chainID)
	}
	if err != nil {
		node.Close()
		return nil, fmt.Errorf("onchain: %w", err)
	}
	return &Chain{node: node, key: key}, nil
}

// Close closes the connections.
func (c *Chain) Close() { c.node.Close() }

// Transferred reports whether a transaction succeeded and its token logged exactly the
// transfer of an authorization.
func (c *Chain) Transferred(ctx context.Context, transaction, token string, a x402.Authorization) (bool, error) {
	receipt, err := c.node.TransactionReceipt(ctx, common.HexToHash(transaction))
	if errors.Is(err, ethereum.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	value, ok := new(big.Int).SetString(a.Value, 10)
	if !ok || receipt.Status != types.ReceiptStatusSuccessful {
		return false, nil
	}
	transfer := crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	for _, l := range receipt.Logs {
		if l.Address == common.HexToAddress(token) && len(l.Topics) == 3 && l.Topics[0] == transfer &&
			common.BytesToAddress(l.Topics[1][:]) == common.HexToAddress(a.From) &&
			common.BytesToAddress(l.Topics[2][:]) == common.HexToAddress(a.To) && new(big.Int).SetBytes(l.Data).Cmp(value) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// lookBack is how many blocks are searched for logs.
const lookBack = 1000

// Approved reports whether a token has logged an approval of a spender in the last 1,000
// blocks.
func (c *Chain) Approved(ctx context.Context, token, spender string) (bool, error) {
	head, err := c.node.BlockNumber(ctx)
	if err != nil {
		return false, err
	}
	logs, err := c.node.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(head - min(head, lookBack)), ToBlock: new(big.Int).SetUint64(head),
		Addresses: []common.Address{common.HexToAddress(token)},
		Topics: [][]common.Hash{
			{crypto.Keccak256Hash([]byte("Approval(address,address,uint256)"))}, nil, {common.BytesToHash(common.HexToAddress(spender).Bytes())},
		},
	})
	return len(logs) > 0, err
}

// Broadcast executes a signed authorization, waits for its receipt, and returns the
// transaction.
func (c *Chain) Broadcast(ctx context.Context, token string, e x402.Exact) (string, error) {
	a, err := evm.ParseAuthorization(e.Authorization)
	if err != nil {
		return "", err
	}
	signature, err := hex.DecodeString(strings.TrimPrefix(e.Signature, "0x"))
	if err != nil || len(signature) != evm.SignatureSize {
		return "", errors.New("onchain: not a signature of a key")
	}
	number := func(n evm.Uint256) *big.Int { return new(big.Int).SetBytes(n[:]) }
	data := contracts.NewTestUSDC().PackTransferWithAuthorization(a.From, a.To, number(a.Value), number(a.ValidAfter), number(a.ValidBefore), a.Nonce, signature)
	tx, err := c.sign(ctx, common.HexToAddress(token), data)
	if err != nil {
		return "", err
	}
	if err := c.node.SendTransaction(ctx, tx); err != nil {
		return "", fmt.Errorf("send transaction: %w", err)
	}
	receipt, err := bind.WaitMined(ctx, c.node, tx.Hash())
	switch {
	case err != nil:
		return "", err
	case receipt.Status != types.ReceiptStatusSuccessful:
		return "", errors.New("onchain: the transaction reverted")
	}
	return tx.Hash().Hex(), nil
}

// sign returns a signed call of a contract.
func (c *Chain) sign(ctx context.Context, to common.Address, data []byte) (*types.Transaction, error) {
	from := crypto.PubkeyToAddress(c.key.PublicKey)
	nonce, err := c.node.PendingNonceAt(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("read nonce: %w", err)
	}
	price, err := c.node.SuggestGasPrice(ctx)
	if err != nil {
		return nil, fmt.Errorf("read gas price: %w", err)
	}
	const gas = 200_000 // of a transfer with authorization, and some
	return types.SignNewTx(c.key, types.LatestSignerForChainID(big.NewInt(chainID)), &types.LegacyTx{
		Nonce: nonce, To: &to, Data: data, Gas: gas, GasPrice: new(big.Int).Mul(price, big.NewInt(2)),
	})
}
