// Package relayer sends the transactions of one key, each with its own nonce, and
// keeps them going until they are final.
//
// A transaction is stored before it is sent, so a crash at any moment leaves a record
// that the next process continues from. The work of a transaction is named by its
// task, and a task has one nonce at a time. [Relayer.Tend] sends a transaction again
// if the node forgot it, replaces it with higher fees if it waits too long, cancels it
// if its work can no longer succeed, and opens it again if a reorganization undid its
// block.
//
// Several instances may share a store and a key: the store's serial transactions
// assign each nonce once, and each instance tends the transactions of all.
package relayer

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/alarm"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// Node is what the relayer needs of a node beside [eth.Node].
type Node interface {
	eth.Node
	BalanceAt(ctx context.Context, account common.Address, block *big.Int) (*big.Int, error)
	NonceAt(ctx context.Context, account common.Address, block *big.Int) (uint64, error)
	EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error)
	SuggestGasTipCap(ctx context.Context) (*big.Int, error)
	SendTransaction(ctx context.Context, tx *types.Transaction) error
}

// Config configures a [Relayer]. All fields but Tasks are required.
type Config struct {
	Node    Node
	Chain   *eth.Reader // of the same node
	ChainID uint64
	Key     *ecdsa.PrivateKey
	Store   records.Store
	// Poll is the pause between two calls to the node while a caller waits.
	Poll time.Duration
	// BumpAfter is how long a transaction waits before it is replaced with higher fees.
	BumpAfter time.Duration
	// MaxFeeWei is the most that a unit of gas may cost.
	MaxFeeWei *big.Int
	// LowBalanceWei is the balance below which a warning is logged.
	LowBalanceWei *big.Int
	Clock         func() time.Time
	Logger        *slog.Logger
	// Tasks has the kinds of tasks that need more than being sent, by the prefix of
	// their names. The key that their functions get is the rest of the name.
	Tasks map[string]Task
}

// Task connects a kind of task with the records that it is for. Each function may be
// nil.
type Task struct {
	// Dead reports whether a task's work would fail in every block after head, so that
	// its transaction can be canceled.
	Dead func(ctx context.Context, key string, head *types.Header) (bool, error)
	// Judge compares a final transaction with the recorded outcome. It is called again
	// after a reorganization. The receipt is nil if none of the task's transactions can
	// land any more.
	Judge func(ctx context.Context, key string, receipt *types.Receipt) error
	// Ended is called after Judge when a transaction has become final.
	Ended func(ctx context.Context, key string, receipt *types.Receipt) error
}

// Relayer sends transactions. It is safe for concurrent use.
type Relayer struct {
	config     Config
	address    common.Address
	alarms     alarm.Limiter
	committed  committedGas
	submitted  atomic.Uint64 // calls of Submit that may have opened a slot
	landing    sync.Mutex    // guards checkpoint
	checkpoint checkpoint
	foreign    atomic.Uint64 // the highest nonce that another program is known to have used
	balanceAt  atomic.Int64  // when the balance was last read, in Unix milliseconds; zero: never
	gauges     gauges
}

// New returns a relayer. It does no I/O.
func New(config Config) *Relayer {
	return &Relayer{config: config, address: crypto.PubkeyToAddress(config.Key.PublicKey)}
}

// Address returns the address that pays for gas.
func (r *Relayer) Address() common.Address { return r.address }

// Job is a call that the relayer is to make once.
type Job struct {
	// Task names the job. A second job of the same task sends nothing.
	Task string
	To   common.Address
	Data []byte
	Gas  uint64
	// Offer is what the transaction offers for its gas. Default: what the network asks.
	Offer Fees
	// Also runs before the slot is written, in the same transaction of the store. If it
	// fails, nothing is stored.
	Also func(tx records.Tx) error
	// Stored and Sent are the points at which a drill ends the process. Default: none.
	Stored, Sent failpoint.Point
}

// Submit stores a signed transaction and then sends it. If the task has a slot,
// Submit returns that slot and sends nothing. After an error nothing was stored, or
// that is unknown. A transaction that was stored and could not be sent is sent by
// [Relayer.Tend].
func (r *Relayer) Submit(ctx context.Context, j Job) (Slot, error) {
	floor, err := r.nonce(ctx, nil)
	if err != nil {
		return Slot{}, err
	}
	if j.Offer.Cap == nil {
		if j.Offer, err = r.suggest(ctx); err != nil {
			return Slot{}, err
		}
	}
	var s Slot
	var fresh bool
	err = r.config.Store.Update(ctx, func(tx records.Tx) error {
		var err error
		if s, fresh, err = r.assign(tx, j, floor); err != nil || !fresh || j.Also == nil {
			return err
		}
		return j.Also(tx)
	})
	r.submitted.Add(1) // also after an error, which leaves it unknown
	if err != nil {
		return Slot{}, fmt.Errorf("store transaction: %w", err)
	}
	if fresh {
		r.committed.add(weiOf(s.Gas, j.Offer.Cap))
		failpoint.Hit(j.Stored)
		r.send(ctx, s.last())
		failpoint.Hit(j.Sent)
	}
	return s, nil
}

// Submitted returns the number of calls of Submit that may have opened a slot.
func (r *Relayer) Submitted() uint64 { return r.submitted.Load() }

// assign gives a task the next nonce, unless it has one.
func (r *Relayer) assign(tx records.Tx, j Job, floor uint64) (s Slot, fresh bool, err error) {
	nonce, found, err := records.Get[uint64](tx, kindTask, j.Task)
	if err != nil {
		return s, false, err
	}
	if found {
		s, found, err = records.Get[Slot](tx, kindSlot, slotKey(nonce))
		if err == nil && !found {
			err = fmt.Errorf("slot %d: %w", nonce, records.ErrDamaged)
		}
		return s, false, err
	}
	next, _, err := records.Get[uint64](tx, kindCursor, cursorNonce)
	if err != nil {
		return s, false, err
	}
	s = Slot{Nonce: max(next, floor), Task: j.Task, To: j.To, Data: j.Data, Gas: j.Gas}
	signed, err := r.sign(s, j.Offer, false)
	if err != nil {
		return s, false, err
	}
	s.Broadcasts = []Broadcast{signed}
	failpoint.Hit(failpoint.NonceTaken)
	return s, true, errors.Join(
		records.Put(tx, kindSlot, slotKey(s.Nonce), s),
		records.Put(tx, kindOpenSlot, slotKey(s.Nonce), true),
		records.Put(tx, kindTask, j.Task, s.Nonce),
		records.Put(tx, kindCursor, cursorNonce, s.Nonce+1),
	)
}

// sign signs a slot's transaction, or one that only uses its nonce.
func (r *Relayer) sign(s Slot, f Fees, cancel bool) (Broadcast, error) {
	if cancel {
		s.To, s.Data, s.Gas = r.address, nil, cancelGas
	}
	id := new(big.Int).SetUint64(r.config.ChainID)
	tx, err := types.SignNewTx(r.config.Key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: s.Nonce, GasTipCap: f.Tip, GasFeeCap: f.Cap, Gas: s.Gas, To: &s.To, Data: s.Data,
	})
	if err != nil {
		return Broadcast{}, fmt.Errorf("sign transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return Broadcast{}, fmt.Errorf("encode transaction: %w", err)
	}
	return Broadcast{Hash: tx.Hash(), Raw: raw, TipCap: f.Tip, FeeCap: f.Cap, At: r.config.Clock().UTC(), Cancel: cancel}, nil
}

// send sends a stored transaction to the node. The node's answer decides nothing:
// only the chain says whether the transaction landed.
func (r *Relayer) send(ctx context.Context, b Broadcast) {
	var tx types.Transaction
	err := tx.UnmarshalBinary(b.Raw)
	if err == nil {
		err = r.config.Node.SendTransaction(ctx, &tx)
	}
	if err != nil {
		r.config.Logger.InfoContext(ctx, "node did not take a transaction", slog.String("hash", b.Hash.Hex()), slog.Any("error", err))
	}
}

// task returns the functions for a task's kind, and the task's key.
func (r *Relayer) task(name string) (t Task, key string) {
	for prefix, t := range r.config.Tasks {
		if key, ok := strings.CutPrefix(name, prefix); ok {
			return t, key
		}
	}
	return Task{}, ""
}
