package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/gasestimator"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"
)

const (
	// callGas and callTime bound a call, as in geth.
	callGas  = 50_000_000
	callTime = 5 * time.Second
	// estimateError is by how much an estimate may be too high, as in geth.
	estimateError = 0.015
)

// callArgs are the arguments of eth_call and eth_estimateGas.
type callArgs struct {
	From                 common.Address               `json:"from"`
	To                   *common.Address              `json:"to"`
	Gas                  hexutil.Uint64               `json:"gas"`
	GasPrice             *hexutil.Big                 `json:"gasPrice"`
	MaxFeePerGas         *hexutil.Big                 `json:"maxFeePerGas"`
	MaxPriorityFeePerGas *hexutil.Big                 `json:"maxPriorityFeePerGas"`
	Value                *hexutil.Big                 `json:"value"`
	Data                 hexutil.Bytes                `json:"data"`
	Input                hexutil.Bytes                `json:"input"`
	AccessList           types.AccessList             `json:"accessList"`
	AuthorizationList    []types.SetCodeAuthorization `json:"authorizationList"`
}

// message returns the call as the EVM takes it. Its gas limit is zero if none is
// given.
func (a callArgs) message(baseFee *big.Int) (*core.Message, error) {
	m := &core.Message{
		From: a.From, To: a.To, GasLimit: uint64(a.Gas), Data: a.Input, AccessList: a.AccessList, SetCodeAuthorizations: a.AuthorizationList,
	}
	if len(a.Data) > 0 {
		if len(a.Input) > 0 && string(a.Input) != string(a.Data) {
			return nil, errors.New(`both "data" and "input" are set and not equal. Please use "input" to pass transaction call data`)
		}
		m.Data = a.Data
	}
	feeCap, tipCap := a.MaxFeePerGas, a.MaxPriorityFeePerGas
	if a.GasPrice != nil {
		if feeCap != nil || tipCap != nil {
			return nil, errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
		}
		feeCap, tipCap = a.GasPrice, a.GasPrice
	}
	for to, from := range map[**uint256.Int]*hexutil.Big{&m.Value: a.Value, &m.GasFeeCap: feeCap, &m.GasTipCap: tipCap} {
		*to = new(uint256.Int)
		if from != nil && (from.ToInt().Sign() < 0 || (*to).SetFromBig(from.ToInt())) {
			return nil, fmt.Errorf("amount %s exceeds 256 bits", from)
		}
	}
	m.GasPrice = new(uint256.Int)
	if !m.GasFeeCap.IsZero() || !m.GasTipCap.IsZero() {
		m.GasPrice.Add(m.GasTipCap, uint256.MustFromBig(baseFee))
		if m.GasPrice.Gt(m.GasFeeCap) {
			m.GasPrice = m.GasFeeCap
		}
	}
	return m.SkipNonceCheck().SkipEOACheck().SkipGasLimitCapCheck(), nil
}

// Call implements eth_call, without overrides of the state.
func (e *ethMethods) Call(ctx context.Context, args callArgs, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	now, header, err := e.stateAt(ctx, at)
	if err != nil {
		return nil, err
	}
	message, err := args.message(header.BaseFee)
	if err != nil {
		return nil, err
	}
	if message.GasLimit == 0 || message.GasLimit > callGas {
		message.GasLimit = callGas
	}
	block := core.NewEVMBlockContext(header, ancestry{history: e.history}, nil)
	if message.GasPrice.IsZero() {
		block.BaseFee = new(big.Int)
	}
	evm := vm.NewEVM(block, now, e.config, vm.Config{NoBaseFee: true})
	defer evm.Release()
	defer context.AfterFunc(ctx, evm.Cancel)()
	result, err := core.ApplyMessage(evm, message, nil)
	switch {
	case now.Error() != nil:
		return nil, now.Error()
	case evm.Cancelled():
		return nil, fmt.Errorf("execution aborted (timeout = %v)", callTime)
	case err != nil:
		return nil, fmt.Errorf("err: %w (supplied gas %d)", err, message.GasLimit)
	case errors.Is(result.Err, vm.ErrExecutionReverted):
		return nil, newRevert(result.Revert())
	}
	return result.Return(), result.Err
}

// EstimateGas implements eth_estimateGas, without overrides of the state.
func (e *ethMethods) EstimateGas(ctx context.Context, args callArgs, at *rpc.BlockNumberOrHash) (hexutil.Uint64, error) {
	now, header, err := e.stateAt(ctx, at)
	if err != nil {
		return 0, err
	}
	message, err := args.message(header.BaseFee)
	if err != nil {
		return 0, err
	}
	gas, revert, err := gasestimator.Estimate(ctx, message, &gasestimator.Options{
		Config: e.config, Chain: ancestry{history: e.history}, Header: header, State: now, ErrorRatio: estimateError,
	}, callGas)
	if errors.Is(err, vm.ErrExecutionReverted) {
		return 0, newRevert(revert)
	}
	return hexutil.Uint64(gas), err
}

// revert is the error of a call that a contract refused.
type revert struct {
	message string
	data    hexutil.Bytes
}

func newRevert(data []byte) *revert {
	r := &revert{message: vm.ErrExecutionReverted.Error(), data: data}
	if reason, err := abi.UnpackRevert(data); err == nil {
		r.message += ": " + reason
	}
	return r
}

func (r *revert) Error() string  { return r.message }
func (r *revert) ErrorCode() int { return 3 }
func (r *revert) ErrorData() any { return r.data.String() }
