package devchain

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
)

const (
	// maxPerAccount is how many transactions of one account wait: one relayer sends
	// many at a time.
	maxPerAccount = 2048
	// maxTransactionSize is the size of a transaction, in bytes, that nodes accept.
	maxTransactionSize = 128 << 10
	// priceBump is how much more a replacement must offer, in percent.
	priceBump = 10
)

// accepted are the types of transactions: all but those with blobs.
const accepted = 1<<types.LegacyTxType | 1<<types.AccessListTxType | 1<<types.DynamicFeeTxType | 1<<types.SetCodeTxType

// waitingTx is a transaction that waits for a block.
type waitingTx struct {
	*types.Transaction

	arrival uint64
}

// pool holds the transactions that wait for a block. Transactions after a gap in an
// account's nonces wait too.
type pool struct {
	byHash   map[common.Hash]*types.Transaction
	byFrom   map[common.Address]map[uint64]waitingTx // then by nonce
	arrivals uint64
}

func newPool() pool {
	return pool{byHash: map[common.Hash]*types.Transaction{}, byFrom: map[common.Address]map[uint64]waitingTx{}}
}

// submit validates a transaction by geth's rules and puts it into the pool. The
// errors are those of geth's pool.
func (h *history) submit(tx *types.Transaction) error {
	head := h.newest().Header()
	options := &txpool.ValidationOptions{Config: h.config, Accept: accepted, MaxSize: maxTransactionSize, MinTip: common.Big1}
	if err := txpool.ValidateTransaction(tx, head, h.signer, options); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pool.byHash[tx.Hash()] != nil {
		return txpool.ErrAlreadyKnown
	}
	now, err := h.stateOf(h.blocks[len(h.blocks)-1].Header())
	if err != nil {
		return err
	}
	from := h.sender(tx)
	account := h.pool.byFrom[from]
	if err := txpool.ValidateTransactionWithState(tx, h.signer, limitsOf(account, now)); err != nil {
		return err
	}
	if before, ok := account[tx.Nonce()]; ok && !outbids(tx, before.Transaction) {
		return txpool.ErrReplaceUnderpriced
	}
	h.pool.put(from, tx)
	return nil
}

// limitsOf returns what an account may still send after what it has waiting.
func limitsOf(account map[uint64]waitingTx, now *state.StateDB) *txpool.ValidationOptionsWithState {
	return &txpool.ValidationOptionsWithState{
		State: now,
		UsedAndLeftSlots: func(common.Address) (int, int) {
			return len(account), maxPerAccount - len(account)
		},
		ExistingExpenditure: func(common.Address) *big.Int {
			total := new(big.Int)
			for _, tx := range account {
				total.Add(total, tx.Cost())
			}
			return total
		},
		ExistingCost: func(_ common.Address, nonce uint64) *big.Int {
			if tx, ok := account[nonce]; ok {
				return tx.Cost()
			}
			return nil
		},
	}
}

// outbids reports whether a transaction may replace another one of its nonce.
func outbids(tx, before *types.Transaction) bool {
	return raised(tx.GasFeeCap(), before.GasFeeCap()) && raised(tx.GasTipCap(), before.GasTipCap())
}

func raised(offer, before *big.Int) bool {
	least := new(big.Int).Mul(before, big.NewInt(100+priceBump))
	return offer.Cmp(before) > 0 && offer.Cmp(least.Div(least, big.NewInt(100))) >= 0
}

// put adds a transaction, instead of one of the same nonce.
func (p *pool) put(from common.Address, tx *types.Transaction) {
	if p.byFrom[from] == nil {
		p.byFrom[from] = map[uint64]waitingTx{}
	}
	if before, ok := p.byFrom[from][tx.Nonce()]; ok {
		delete(p.byHash, before.Hash())
	}
	p.arrivals++
	p.byHash[tx.Hash()], p.byFrom[from][tx.Nonce()] = tx, waitingTx{tx, p.arrivals}
}

// used removes what an account has waiting under a nonce that a block used.
func (p *pool) used(from common.Address, nonce uint64) {
	account := p.byFrom[from]
	if tx, ok := account[nonce]; ok {
		delete(p.byHash, tx.Hash())
		delete(account, nonce)
	}
	if len(account) == 0 {
		delete(p.byFrom, from)
	}
}

// queues returns the transactions that can follow on a state, in one queue for each
// account, ordered by nonce.
func (p *pool) queues(now *state.StateDB) [][]waitingTx {
	var queues [][]waitingTx
	for from, account := range p.byFrom {
		var queue []waitingTx
		for nonce := now.GetNonce(from); ; nonce++ {
			tx, ok := account[nonce]
			if !ok {
				break
			}
			queue = append(queue, tx)
		}
		if len(queue) > 0 {
			queues = append(queues, queue)
		}
	}
	slices.SortFunc(queues, func(a, b []waitingTx) int { return cmp.Compare(a[0].arrival, b[0].arrival) })
	return queues
}

// next returns the nonce after the state's and those that wait without a gap.
func (h *history) nextNonce(from common.Address) (uint64, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	now, err := h.stateOf(h.blocks[len(h.blocks)-1].Header())
	if err != nil {
		return 0, fmt.Errorf("read nonce: %w", err)
	}
	nonce := now.GetNonce(from)
	for {
		if _, ok := h.pool.byFrom[from][nonce]; !ok {
			return nonce, nil
		}
		nonce++
	}
}
