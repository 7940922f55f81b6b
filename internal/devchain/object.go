package devchain

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// object is a JSON object of the protocol. Nil is JSON's null.
type object map[string]any

// objectOf returns the members of v's JSON that are not null, and more.
func objectOf(v any, more object) (object, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	o := object{}
	for name, member := range members {
		if string(member) != "null" {
			o[name] = member
		}
	}
	maps.Copy(o, more)
	return o, nil
}

// blockObject returns a block, with whole transactions or their hashes.
func (h *history) blockObject(b *block, full bool) (object, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // null in JSON
	}
	txs := make([]any, len(b.Transactions()))
	for i, tx := range b.Transactions() {
		txs[i] = tx.Hash()
		if !full {
			continue
		}
		var err error
		if txs[i], err = h.transactionObject(tx, position{b, i}); err != nil {
			return nil, err
		}
	}
	return objectOf(b.Header(), object{
		"size": hexutil.Uint64(b.Size()), "transactions": txs, "uncles": []common.Hash{}, "withdrawals": []any{},
	})
}

// pendingObject returns the block that is being made. It has no hash yet.
func (h *history) pendingObject(d *draft, full bool) (object, error) {
	b := &block{Block: types.NewBlockWithHeader(d.header).WithBody(types.Body{Transactions: d.txs})}
	o, err := h.blockObject(b, full)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"hash", "nonce", "miner"} {
		o[name] = nil
	}
	return o, nil
}

// transactionObject returns a transaction that is in a block, or waits for one.
func (h *history) transactionObject(tx *types.Transaction, at position) (object, error) {
	more := object{
		"from": h.sender(tx), "gasPrice": (*hexutil.Big)(tx.GasPrice()),
		"blockHash": nil, "blockNumber": nil, "transactionIndex": nil,
	}
	if b := at.block; b != nil {
		paid := tx.GasPrice()
		if len(b.receipts) > at.index {
			paid = b.receipts[at.index].EffectiveGasPrice
		}
		maps.Copy(more, object{
			"gasPrice": (*hexutil.Big)(paid), "blockHash": b.Hash(), "blockNumber": (*hexutil.Big)(b.Number()),
			"blockTimestamp": hexutil.Uint64(b.Time()), "transactionIndex": hexutil.Uint64(at.index),
		})
	}
	if tx.To() == nil {
		more["to"] = nil
	}
	return objectOf(tx, more)
}

// receiptObject returns a receipt.
func (h *history) receiptObject(tx *types.Transaction, r *types.Receipt) (object, error) {
	more := object{
		"type": hexutil.Uint64(tx.Type()), "from": h.sender(tx), "to": tx.To(), "contractAddress": nil, "logs": r.Logs,
	}
	if tx.To() == nil {
		more["contractAddress"] = r.ContractAddress
	}
	if r.Logs == nil {
		more["logs"] = []*types.Log{}
	}
	o, err := objectOf(r, more)
	delete(o, "root") // of receipts before Byzantium
	return o, err
}
