package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// slot is a nonce of the relayer, what it is for, and all that was broadcast
// under it. At most one of the broadcasts can ever land.
type slot struct {
	Nonce      uint64         `json:"nonce"`
	Task       string         `json:"task"`
	To         common.Address `json:"to"`
	Data       hexutil.Bytes  `json:"data"`
	Gas        uint64         `json:"gas"`
	Broadcasts []broadcast    `json:"broadcasts"`
}

// broadcast is a signed transaction.
type broadcast struct {
	Hash   common.Hash   `json:"hash"`
	Raw    hexutil.Bytes `json:"raw"`
	TipCap *big.Int      `json:"tipCap"`
	FeeCap *big.Int      `json:"feeCap"`
	At     time.Time     `json:"at"`
	Cancel bool          `json:"cancel,omitempty"` // it does nothing but use the nonce
}

func (s slot) last() broadcast { return s.Broadcasts[len(s.Broadcasts)-1] }

// hash is that of the newest broadcast; zero where there is none.
func (s slot) hash() (h common.Hash) {
	if len(s.Broadcasts) > 0 {
		h = s.last().Hash
	}
	return h
}

// slotKey sorts as the nonces do.
func slotKey(nonce uint64) string { return fmt.Sprintf("%020d", nonce) }

// Names of cursors.
const (
	cursorNonce = "nonce" // the next one to use
	cursorWatch = "watch" // the newest block that was watched
	cursorOwner = "owner" // whom the records are of
)

// fees are what a transaction offers for its gas.
type fees struct {
	tip, cap *big.Int
	base     *big.Int // what the newest block asks; not offered
}

func weiOf(gas uint64, price *big.Int) *big.Int {
	return new(big.Int).Mul(price, new(big.Int).SetUint64(gas))
}

// committed is what transactions that are in no block yet may cost.
type committed struct {
	mu     sync.Mutex
	tended *big.Int // of all, when tend last looked
	since  *big.Int // of those submitted since then
}

func (c *committed) add(wei *big.Int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since == nil {
		c.since = new(big.Int)
	}
	c.since.Add(c.since, wei)
}

// count replaces what is known by what tend found.
func (c *committed) count(wei *big.Int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tended, c.since = wei, nil
}

func (c *committed) sum() *big.Int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := new(big.Int)
	for _, part := range []*big.Int{c.tended, c.since} {
		if part != nil {
			sum.Add(sum, part)
		}
	}
	return sum
}

// suggest offers what the network asks now, and room for the base fee to double.
func (r *Rail) suggest(ctx context.Context) (fees, error) {
	tip, err := r.config.RPC.SuggestGasTipCap(ctx)
	if err != nil {
		return fees{}, fmt.Errorf("read fees: %w", err)
	}
	header, err := r.newest(ctx)
	if err != nil {
		return fees{}, err
	}
	base := header.BaseFee
	if base == nil {
		base = new(big.Int)
	}
	most := new(big.Int).Add(tip, new(big.Int).Lsh(base, 1))
	f := fees{tip: tip, cap: most, base: base}
	return f.within(r.config.MaxFeeWei), nil
}

func (f fees) within(limit *big.Int) fees {
	if f.cap.Cmp(limit) > 0 {
		f.cap = limit
	}
	if f.tip.Cmp(f.cap) > 0 {
		f.tip = f.cap
	}
	return f
}

// sign makes a broadcast of a slot, or one that uses its nonce for nothing.
func (r *Rail) sign(s slot, f fees, cancel bool) (broadcast, error) {
	if cancel {
		s.To, s.Data, s.Gas = r.relayer, nil, cancelGas
	}
	id := new(big.Int).SetUint64(r.config.ChainID)
	tx, err := types.SignNewTx(r.config.Relayer, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: s.Nonce, GasTipCap: f.tip, GasFeeCap: f.cap, Gas: s.Gas, To: &s.To, Data: s.Data,
	})
	if err != nil {
		return broadcast{}, fmt.Errorf("sign transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return broadcast{}, fmt.Errorf("encode transaction: %w", err)
	}
	return broadcast{Hash: tx.Hash(), Raw: raw, TipCap: f.tip, FeeCap: f.cap, At: r.config.Clock().UTC(), Cancel: cancel}, nil
}

// work is a call that the relayer is to make once.
type work struct {
	task string
	to   common.Address
	data []byte
	gas  uint64
	// offer is what it offers for its gas. Default: what the network asks.
	offer fees
	// reserve reserves the value of a signed transfer, whose payer may be a contract.
	reserve  func(tx Tx) error
	contract bool
	// also runs in the transaction that stores the slot, before it; its error undoes all.
	also func(tx Tx) error
	// stored and sent are where a drill ends the process. Default: nowhere.
	stored, sent failpoint.Point
}

// submit stores a signed transaction and then sends it. Where the task has one
// already, that one is returned and nothing is sent. An error means that nothing
// was stored, or that it is not known; a transaction that was stored and could not
// be sent is sent by tend.
func (r *Rail) submit(ctx context.Context, w work) (slot, error) {
	floor, err := r.config.RPC.NonceAt(ctx, r.relayer, nil)
	if err != nil {
		return slot{}, fmt.Errorf("read nonce: %w", err)
	}
	offer := w.offer
	if offer.cap == nil {
		if offer, err = r.suggest(ctx); err != nil {
			return slot{}, err
		}
	}
	var s slot
	var fresh bool
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		var err error
		if s, fresh, err = r.take(tx, w, floor, offer); err != nil || !fresh || w.also == nil {
			return err
		}
		return w.also(tx)
	})
	r.slotsOpened.Add(1) // also after an error, which leaves it unknown
	if err != nil {
		return slot{}, fmt.Errorf("store transaction: %w", err)
	}
	if fresh {
		r.committed.add(weiOf(s.Gas, offer.cap))
		failpoint.Hit(w.stored)
		r.send(ctx, s.last())
		failpoint.Hit(w.sent)
	}
	return s, nil
}

// take gives a task the next nonce, unless it has one.
func (r *Rail) take(tx Tx, w work, floor uint64, offer fees) (s slot, fresh bool, err error) {
	nonce, found, err := read[uint64](tx, kindTask, w.task)
	if err != nil {
		return s, false, err
	}
	if found {
		s, found, err = read[slot](tx, kindSlot, slotKey(nonce))
		if err == nil && !found {
			err = fmt.Errorf("slot %d: %w", nonce, errRecord)
		}
		return s, false, err
	}
	next, _, err := read[uint64](tx, kindCursor, cursorNonce)
	if err != nil {
		return s, false, err
	}
	s = slot{Nonce: max(next, floor), Task: w.task, To: w.to, Data: w.data, Gas: w.gas}
	signed, err := r.sign(s, offer, false)
	if err != nil {
		return s, false, err
	}
	s.Broadcasts = []broadcast{signed}
	failpoint.Hit(failpoint.NonceTaken)
	return s, true, errors.Join(
		write(tx, kindSlot, slotKey(s.Nonce), s),
		write(tx, kindOpenSlot, slotKey(s.Nonce), true),
		write(tx, kindTask, w.task, s.Nonce),
		write(tx, kindCursor, cursorNonce, s.Nonce+1),
	)
}

// send gives a stored transaction to the node. What the node says is no verdict:
// only the chain tells what became of it.
func (r *Rail) send(ctx context.Context, b broadcast) {
	var tx types.Transaction
	err := tx.UnmarshalBinary(b.Raw)
	if err == nil {
		err = r.config.RPC.SendTransaction(ctx, &tx)
	}
	if err != nil {
		r.config.Logger.InfoContext(ctx, "node did not take a transaction", slog.String("hash", b.Hash.Hex()), slog.Any("error", err))
	}
}

// taskSlot is the slot of a task, and whether it has one.
func (r *Rail) taskSlot(ctx context.Context, task string) (s slot, found bool, err error) {
	err = r.config.Store.View(ctx, func(tx Tx) error {
		nonce, has, err := read[uint64](tx, kindTask, task)
		if err != nil || !has {
			return err
		}
		s, found, err = read[slot](tx, kindSlot, slotKey(nonce))
		return err
	})
	if err != nil {
		return slot{}, false, fmt.Errorf("read transaction of %s: %w", task, err)
	}
	return s, found, nil
}

// fate is what became of a slot.
type fate int

const (
	waiting   fate = iota // none of its broadcasts is in a block
	included              // one is, not deep enough
	final                 // one is, for good
	displaced             // its nonce was used by something else, for good
)

// examine asks the chain what became of a slot; the receipt where it is in a block.
func (r *Rail) examine(ctx context.Context, s slot) (fate, *types.Receipt, error) {
	// The nonce is read before the receipts: where it was used by then and no receipt
	// is found afterwards, it was not used by us. And again after them: a block that
	// came undone between the two would tell the same.
	used, deep, err := r.used(ctx, s.Nonce)
	if err != nil {
		return 0, nil, err
	}
	for _, b := range slices.Backward(s.Broadcasts) {
		receipt, err := r.config.RPC.TransactionReceipt(ctx, b.Hash)
		if errors.Is(err, ethereum.NotFound) {
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("read receipt of %s: %w", b.Hash, err)
		}
		if receipt.BlockNumber.Uint64() <= deep {
			return final, receipt, nil
		}
		return included, receipt, nil
	}
	if used {
		if used, _, err = r.used(ctx, s.Nonce); err != nil {
			return 0, nil, err
		}
	}
	if used {
		return displaced, nil, nil
	}
	return waiting, nil, nil
}

// used tells whether a final block has used a nonce, and the newest such block.
func (r *Rail) used(ctx context.Context, nonce uint64) (used bool, deep uint64, err error) {
	head, err := r.config.RPC.BlockNumber(ctx)
	if err != nil {
		return false, 0, fmt.Errorf("read newest block: %w", err)
	}
	deep, ok := r.confirmed(head)
	if !ok {
		return false, 0, nil
	}
	next, err := r.config.RPC.NonceAt(ctx, r.relayer, new(big.Int).SetUint64(deep))
	if err != nil {
		return false, 0, fmt.Errorf("read nonce: %w", err)
	}
	return next > nonce, deep, nil
}
