package chain

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// RPC is what the rail calls on a node. The methods are those of ethclient.Client,
// with its meanings. A node that also has the method Client() *rpc.Client gets several
// reads in one request.
type RPC interface {
	// ChainID returns the chain's id.
	ChainID(ctx context.Context) (*big.Int, error)
	// BlockNumber returns the number of the newest block.
	BlockNumber(ctx context.Context) (uint64, error)
	// HeaderByNumber returns a block's header, the newest one if number is nil.
	HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error)
	// BalanceAt returns an account's balance in wei after a block, nil for the newest.
	BalanceAt(ctx context.Context, account common.Address, block *big.Int) (*big.Int, error)
	// NonceAt returns an account's next nonce after a block, nil for the newest.
	NonceAt(ctx context.Context, account common.Address, block *big.Int) (uint64, error)
	// CallContract runs a call on the state after a block, nil for the newest.
	CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error)
	// EstimateGas returns the gas that a call uses on the newest state.
	EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error)
	// SuggestGasTipCap returns the tip that lets a transaction land soon.
	SuggestGasTipCap(ctx context.Context) (*big.Int, error)
	// SendTransaction broadcasts a signed transaction.
	SendTransaction(ctx context.Context, tx *types.Transaction) error
	// TransactionByHash returns a transaction that is in a block or waits for one, or
	// [ethereum.NotFound].
	TransactionByHash(ctx context.Context, hash common.Hash) (tx *types.Transaction, pending bool, err error)
	// TransactionReceipt returns the receipt of a transaction in a block, or
	// [ethereum.NotFound].
	TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error)
	// FilterLogs returns the logs that a query matches.
	FilterLogs(ctx context.Context, q ethereum.FilterQuery) ([]types.Log, error)
}
