package eth

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
)

// Call calls a view of a contract at a block, the newest one if block is nil. The
// error wraps a [*RevertError] if the contract refuses the call.
func (r *Reader) Call(ctx context.Context, to common.Address, call []byte, block *big.Int) ([]byte, error) {
	answer, err := r.Node.CallContract(ctx, ethereum.CallMsg{To: &to, Data: call}, block)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", to, AsRevert(err))
	}
	return answer, nil
}

// View calls a view of a contract at the newest block and unpacks the answer.
func View[T any](ctx context.Context, r *Reader, to common.Address, call []byte, unpack func([]byte) (T, error)) (T, error) {
	return ViewAt(ctx, r, nil, to, call, unpack)
}

// ViewAt is [View] at a block, the newest one if block is nil.
func ViewAt[T any](ctx context.Context, r *Reader, block *big.Int, to common.Address, call []byte, unpack func([]byte) (T, error)) (T, error) {
	var none T
	answer, err := r.Call(ctx, to, call, block)
	if err != nil {
		return none, err
	}
	value, err := unpack(answer)
	if err != nil {
		return none, fmt.Errorf("read answer of %s: %w", to, err)
	}
	return value, nil
}
