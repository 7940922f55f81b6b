package devchain

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// SendRawTransaction implements eth_sendRawTransaction.
func (e *ethMethods) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	var tx types.Transaction
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	if err := e.submit(&tx); err != nil {
		return common.Hash{}, err
	}
	e.wake()
	return tx.Hash(), nil
}

// GetTransactionByHash implements eth_getTransactionByHash.
func (e *ethMethods) GetTransactionByHash(hash common.Hash) (object, error) {
	tx, at, ok := e.transaction(hash)
	if !ok {
		return nil, nil //nolint:nilnil // null in JSON
	}
	return e.transactionObject(tx, at)
}

// GetTransactionReceipt implements eth_getTransactionReceipt.
func (e *ethMethods) GetTransactionReceipt(hash common.Hash) (object, error) {
	tx, at, ok := e.transaction(hash)
	if !ok || at.block == nil {
		return nil, nil //nolint:nilnil // null in JSON
	}
	return e.receiptObject(tx, at.block.receipts[at.index])
}

// GetBlockReceipts implements eth_getBlockReceipts.
func (e *ethMethods) GetBlockReceipts(at rpc.BlockNumberOrHash) ([]object, error) {
	var b *block
	if hash, ok := at.Hash(); ok {
		b = e.hashed(hash)
	} else if number, ok := at.Number(); ok {
		b = e.blockAt(number)
	}
	if b == nil {
		return nil, nil
	}
	receipts := make([]object, len(b.receipts))
	for i, tx := range b.Transactions() {
		var err error
		if receipts[i], err = e.receiptObject(tx, b.receipts[i]); err != nil {
			return nil, fmt.Errorf("receipt %d: %w", i, err)
		}
	}
	return receipts, nil
}
