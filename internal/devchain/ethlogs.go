package devchain

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// maxTopics is how many topics a log has at most.
const maxTopics = 4

// logFilter says which logs eth_getLogs returns.
type logFilter struct {
	BlockHash *common.Hash          `json:"blockHash"`
	FromBlock *rpc.BlockNumber      `json:"fromBlock"`
	ToBlock   *rpc.BlockNumber      `json:"toBlock"`
	Address   anyOf[common.Address] `json:"address"`
	Topics    []anyOf[common.Hash]  `json:"topics"`
}

// anyOf is null, one value or an array of values. Empty matches everything.
type anyOf[T comparable] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (a *anyOf[T]) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]T)(a))
	}
	var one *T
	if err := json.Unmarshal(text, &one); err != nil || one == nil {
		return err
	}
	*a = anyOf[T]{*one}
	return nil
}

func (a anyOf[T]) matches(value T) bool { return len(a) == 0 || slices.Contains(a, value) }

// matches reports whether a log passes the filter.
func (f logFilter) matches(l *types.Log) bool {
	if len(f.Topics) > len(l.Topics) || !f.Address.matches(l.Address) {
		return false
	}
	for i, topic := range f.Topics {
		if !topic.matches(l.Topics[i]) {
			return false
		}
	}
	return true
}

// GetLogs implements eth_getLogs.
func (e *ethMethods) GetLogs(ctx context.Context, f logFilter) ([]*types.Log, error) {
	if len(f.Topics) > maxTopics {
		return nil, invalidParams("exceed max topics")
	}
	blocks, err := e.searched(f)
	if err != nil {
		return nil, err
	}
	found := []*types.Log{}
	for _, b := range blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, receipt := range b.receipts {
			for _, l := range receipt.Logs {
				if f.matches(l) {
					found = append(found, l)
				}
			}
		}
	}
	return found, nil
}

// invalidParams is the error of a call with arguments that cannot be.
type invalidParams string

func (e invalidParams) Error() string { return string(e) }
func (invalidParams) ErrorCode() int  { return -32602 }

// searched returns the blocks in which a filter looks.
func (e *ethMethods) searched(f logFilter) ([]*block, error) {
	if f.BlockHash != nil {
		if f.FromBlock != nil || f.ToBlock != nil {
			return nil, invalidParams("can't specify fromBlock/toBlock with blockHash")
		}
		b := e.hashed(*f.BlockHash)
		if b == nil {
			return nil, errors.New("unknown block")
		}
		return []*block{b}, nil
	}
	head := e.newest().NumberU64()
	first, err := e.bound(f.FromBlock, head)
	if err != nil {
		return nil, err
	}
	last, err := e.bound(f.ToBlock, head)
	switch {
	case err != nil:
		return nil, err
	case first > last:
		return nil, invalidParams("invalid block range params")
	case last > head:
		return nil, invalidParams("block range extends beyond current head block")
	}
	return e.span(first, last), nil
}

// bound returns the number of a block at an end of a range. Default: the newest.
func (e *ethMethods) bound(at *rpc.BlockNumber, head uint64) (uint64, error) {
	switch {
	case at == nil || *at == rpc.LatestBlockNumber:
		return head, nil
	case *at == rpc.PendingBlockNumber:
		return 0, invalidParams("pending logs are not supported")
	case *at < 0:
		return e.blockAt(*at).NumberU64(), nil
	}
	return uint64(*at), nil
}
