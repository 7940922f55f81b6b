package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/paywarrant/paywarrant/server/rail"
)

// RPC is what the rail asks of a node.
type RPC interface {
	ChainID(ctx context.Context) (*big.Int, error)
	BlockNumber(ctx context.Context) (uint64, error)
	HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error)
	BalanceAt(ctx context.Context, account common.Address, block *big.Int) (*big.Int, error)
	NonceAt(ctx context.Context, account common.Address, block *big.Int) (uint64, error)
	CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error)
	EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error)
	SuggestGasTipCap(ctx context.Context) (*big.Int, error)
	SendTransaction(ctx context.Context, tx *types.Transaction) error
	TransactionByHash(ctx context.Context, hash common.Hash) (tx *types.Transaction, pending bool, err error)
	TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error)
	FilterLogs(ctx context.Context, q ethereum.FilterQuery) ([]types.Log, error)
}

// revertError is a call that a contract refused.
type revertError struct {
	data  []byte // the contract's error
	cause error
}

func (e *revertError) Error() string { return "call reverts: " + e.cause.Error() }
func (e *revertError) Unwrap() error { return e.cause }

// reverted tells a contract's refusal from a node that does not answer.
func reverted(err error) error {
	var withData rpc.DataError
	if !errors.As(err, &withData) {
		return err
	}
	text, ok := withData.ErrorData().(string)
	if !ok {
		return err
	}
	data, decodeErr := hexutil.Decode(text)
	if decodeErr != nil {
		return err
	}
	return &revertError{data: data, cause: err}
}

// read calls a view of a contract at a block, nil for the newest.
func (r *Rail) read(ctx context.Context, to common.Address, call []byte, block *big.Int) ([]byte, error) {
	answer, err := r.config.RPC.CallContract(ctx, ethereum.CallMsg{To: &to, Data: call}, block)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", to, reverted(err))
	}
	return answer, nil
}

// viewOf reads and unpacks what is so now.
func viewOf[T any](ctx context.Context, r *Rail, to common.Address, call []byte, unpack func([]byte) (T, error)) (T, error) {
	return viewAt(ctx, r, nil, to, call, unpack)
}

// viewAt reads and unpacks what was so after a block, nil for the newest.
func viewAt[T any](ctx context.Context, r *Rail, block *big.Int, to common.Address, call []byte, unpack func([]byte) (T, error)) (T, error) {
	var none T
	answer, err := r.read(ctx, to, call, block)
	if err != nil {
		return none, err
	}
	value, err := unpack(answer)
	if err != nil {
		return none, fmt.Errorf("read answer of %s: %w", to, err)
	}
	return value, nil
}

func (r *Rail) balance(ctx context.Context, owner common.Address) (*big.Int, error) {
	return viewOf(ctx, r, r.config.Token.Address, r.token.PackBalanceOf(owner), r.token.UnpackBalanceOf)
}

func (r *Rail) allowance(ctx context.Context, owner common.Address) (*big.Int, error) {
	return r.allowanceAt(ctx, owner, nil)
}

func (r *Rail) allowanceAt(ctx context.Context, owner common.Address, block *big.Int) (*big.Int, error) {
	return viewAt(ctx, r, block, r.config.Token.Address, r.token.PackAllowance(owner, r.config.Router), r.token.UnpackAllowance)
}

// newest is the newest block's header.
func (r *Rail) newest(ctx context.Context) (*types.Header, error) {
	header, err := r.config.RPC.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("read newest block: %w", err)
	}
	return header, nil
}

// deepEnough reports whether a block is final for an amount, beyond what
// Config.Confirmations asks.
func (r *Rail) deepEnough(ctx context.Context, amount *big.Int, block uint64) (bool, error) {
	above := func(limit rail.Micros) bool { return limit > 0 && amount.Cmp(big.NewInt(int64(limit))) > 0 }
	tag := rpc.SafeBlockNumber
	switch {
	case above(r.config.FinalizedAbove):
		tag = rpc.FinalizedBlockNumber
	case !above(r.config.SafeAbove):
		return true, nil
	}
	header, err := r.config.RPC.HeaderByNumber(ctx, big.NewInt(tag.Int64()))
	if errors.Is(err, ethereum.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s block: %w", tag, err)
	}
	return header.Number.Cmp(new(big.Int).SetUint64(block)) >= 0, nil
}

// confirmed is the number of the newest block that is final, and whether there is one.
func (r *Rail) confirmed(head uint64) (uint64, bool) {
	if head+1 < r.config.Confirmations {
		return 0, false
	}
	return head + 1 - r.config.Confirmations, true
}
