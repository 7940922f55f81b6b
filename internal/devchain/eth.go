package devchain

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// ethMethods are the methods of the namespace eth.
type ethMethods struct{ *Chain }

// ChainId implements eth_chainId.
func (e *ethMethods) ChainId() *hexutil.Big {
	return (*hexutil.Big)(e.config.ChainID)
}

// BlockNumber implements eth_blockNumber.
func (e *ethMethods) BlockNumber() hexutil.Uint64 { return hexutil.Uint64(e.newest().NumberU64()) }

// Syncing implements eth_syncing.
func (e *ethMethods) Syncing() bool { return false }

// Accounts implements eth_accounts. The chain signs nothing.
func (e *ethMethods) Accounts() []common.Address { return []common.Address{} }

// GetBlockByNumber implements eth_getBlockByNumber.
func (e *ethMethods) GetBlockByNumber(ctx context.Context, number rpc.BlockNumber, full bool) (object, error) {
	if number == rpc.PendingBlockNumber {
		d, err := e.pending(ctx)
		if err != nil {
			return nil, err
		}
		defer d.discard()
		return e.pendingObject(d, full)
	}
	return e.blockObject(e.blockAt(number), full)
}

// GetBlockByHash implements eth_getBlockByHash.
func (e *ethMethods) GetBlockByHash(hash common.Hash, full bool) (object, error) {
	return e.blockObject(e.hashed(hash), full)
}

// GetBalance implements eth_getBalance.
func (e *ethMethods) GetBalance(ctx context.Context, account common.Address, at *rpc.BlockNumberOrHash) (*hexutil.Big, error) {
	now, _, err := e.stateAt(ctx, at)
	if err != nil {
		return nil, err
	}
	return (*hexutil.Big)(now.GetBalance(account).ToBig()), now.Error()
}

// GetCode implements eth_getCode.
func (e *ethMethods) GetCode(ctx context.Context, account common.Address, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	now, _, err := e.stateAt(ctx, at)
	if err != nil {
		return nil, err
	}
	return now.GetCode(account), now.Error()
}

// GetStorageAt implements eth_getStorageAt.
func (e *ethMethods) GetStorageAt(ctx context.Context, account common.Address, slot string, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	now, _, err := e.stateAt(ctx, at)
	if err != nil {
		return nil, err
	}
	value := now.GetState(account, common.HexToHash(slot))
	return value[:], now.Error()
}

// GetTransactionCount implements eth_getTransactionCount.
func (e *ethMethods) GetTransactionCount(ctx context.Context, account common.Address, at *rpc.BlockNumberOrHash) (hexutil.Uint64, error) {
	if at != nil && at.BlockNumber != nil && *at.BlockNumber == rpc.PendingBlockNumber {
		nonce, err := e.nextNonce(account)
		return hexutil.Uint64(nonce), err
	}
	now, _, err := e.stateAt(ctx, at)
	if err != nil {
		return 0, err
	}
	return hexutil.Uint64(now.GetNonce(account)), now.Error()
}

// blockAt returns the block of a number or tag other than pending, or nil.
func (e *ethMethods) blockAt(number rpc.BlockNumber) *block {
	switch number {
	case rpc.LatestBlockNumber, rpc.SafeBlockNumber:
		return e.newest()
	case rpc.FinalizedBlockNumber:
		return e.finalized()
	case rpc.EarliestBlockNumber:
		return e.numbered(0)
	default:
		return e.numbered(uint64(number))
	}
}

// stateAt returns the state after a block, and the block's header. Default: the
// newest block.
func (e *ethMethods) stateAt(ctx context.Context, at *rpc.BlockNumberOrHash) (*state.StateDB, *types.Header, error) {
	b := e.newest()
	switch {
	case at == nil:
	case at.BlockHash != nil:
		b = e.hashed(*at.BlockHash)
	case at.BlockNumber != nil && *at.BlockNumber == rpc.PendingBlockNumber:
		d, err := e.pending(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer d.discard()
		return d.state, d.header, nil
	case at.BlockNumber != nil:
		b = e.blockAt(*at.BlockNumber)
	}
	if b == nil {
		return nil, nil, errNoBlock
	}
	now, err := e.stateOf(b.Header())
	return now, b.Header(), err
}

// tip is the tip that the chain suggests, in wei. Any is enough.
var tip = big.NewInt(1_000_000_000)

// MaxPriorityFeePerGas implements eth_maxPriorityFeePerGas.
func (e *ethMethods) MaxPriorityFeePerGas() *hexutil.Big { return (*hexutil.Big)(tip) }

// GasPrice implements eth_gasPrice.
func (e *ethMethods) GasPrice() *hexutil.Big {
	return (*hexutil.Big)(new(big.Int).Add(tip, e.newest().BaseFee()))
}
