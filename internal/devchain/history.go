package devchain

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
)

const (
	// keptStates is how many of the newest blocks' states can be read and gone back to.
	keptStates = 1024
	// epoch is how many blocks become final together.
	epoch = 32
)

var (
	errNoBlock = errors.New("header not found")
	errNoState = errors.New("missing trie node: the state of this block is no longer kept")
)

// block is a block with its receipts.
type block struct {
	*types.Block

	receipts types.Receipts
}

// position is a transaction's place in the chain.
type position struct {
	block *block
	index int
}

// history is the chain so far, and the transactions that wait to be added to it.
type history struct {
	config *params.ChainConfig
	signer types.Signer
	nodes  *triedb.Database
	states state.Database

	mu     sync.RWMutex // guards what follows
	blocks []*block     // by number
	byHash map[common.Hash]*block
	mined  map[common.Hash]position
	pool   pool
	grown  chan struct{} // closed when a block is added
}

func newHistory(others types.GenesisAlloc) (*history, error) {
	start, err := genesis(others)
	if err != nil {
		return nil, err
	}
	disk := rawdb.NewMemoryDatabase()
	h := &history{
		config: start.Config, signer: types.LatestSigner(start.Config), nodes: triedb.NewDatabase(disk, triedb.HashDefaults),
		byHash: map[common.Hash]*block{}, mined: map[common.Hash]position{}, pool: newPool(), grown: make(chan struct{}),
	}
	h.states = state.NewMPTDatabase(h.nodes, state.NewCodeDB(disk))
	first, err := start.Commit(disk, h.nodes, nil)
	if err != nil {
		return nil, fmt.Errorf("make first block: %w", err)
	}
	h.blocks = []*block{{Block: first}}
	h.byHash[first.Hash()] = h.blocks[0]
	return h, nil
}

// newest returns the newest block.
func (h *history) newest() *block {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.blocks[len(h.blocks)-1]
}

// numbered returns the block of a number, or nil.
func (h *history) numbered(number uint64) *block {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if number >= uint64(len(h.blocks)) {
		return nil
	}
	return h.blocks[number]
}

// hashed returns the block of a hash, or nil if it is not on the chain.
func (h *history) hashed(hash common.Hash) *block {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.byHash[hash]
}

// span returns the blocks from first to last, as far as they exist.
func (h *history) span(first, last uint64) []*block {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if first >= uint64(len(h.blocks)) || first > last {
		return nil
	}
	return h.blocks[first:min(last+1, uint64(len(h.blocks)))]
}

// transaction returns a transaction that is in a block or waits for one. The position
// has no block if it waits.
func (h *history) transaction(hash common.Hash) (*types.Transaction, position, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if at, ok := h.mined[hash]; ok {
		return at.block.Transactions()[at.index], at, true
	}
	tx := h.pool.byHash[hash]
	return tx, position{}, tx != nil
}

// stateOf returns the state after a block.
func (h *history) stateOf(header *types.Header) (*state.StateDB, error) {
	s, err := state.New(header.Root, h.states)
	if err != nil {
		return nil, fmt.Errorf("%w: block %s", errNoState, header.Number)
	}
	return s, nil
}

// add appends a block whose state was committed.
func (h *history) add(b *block) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.nodes.Reference(b.Root(), common.Hash{}); err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	h.blocks = append(h.blocks, b)
	h.byHash[b.Hash()] = b
	for i, tx := range b.Transactions() {
		h.mined[tx.Hash()] = position{b, i}
		h.pool.used(h.sender(tx), tx.Nonce())
	}
	close(h.grown)
	h.grown = make(chan struct{})
	if old := len(h.blocks) - 1 - keptStates; old > 0 {
		return h.nodes.Dereference(h.blocks[old].Root())
	}
	return nil
}

// NextBlock returns a channel that is closed when the next block is added.
func (h *history) NextBlock() <-chan struct{} {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.grown
}

// takeBack removes the newest blocks. Their transactions wait again, unless all
// that wait are dropped.
func (h *history) takeBack(depth int, drop bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := len(h.blocks) - depth
	if depth < 1 || left < 2 || depth >= keptStates { // the first block deploys the router
		return fmt.Errorf("devchain: take back %d blocks of %d", depth, len(h.blocks)-1)
	}
	undone := h.blocks[left:]
	h.blocks = h.blocks[:left:left]
	var errs []error
	for _, b := range undone {
		delete(h.byHash, b.Hash())
		errs = append(errs, h.nodes.Dereference(b.Root()))
		for _, tx := range b.Transactions() {
			delete(h.mined, tx.Hash())
			h.pool.put(h.sender(tx), tx)
		}
	}
	if drop {
		h.pool = newPool()
	}
	return errors.Join(errs...)
}

// sender returns who signed a transaction that was validated before.
func (h *history) sender(tx *types.Transaction) common.Address {
	from, _ := types.Sender(h.signer, tx) // the transaction remembers it
	return from
}

// finalized returns the newest block that reorganizations are not to take back.
func (h *history) finalized() *block {
	return h.numbered(h.newest().NumberU64() / epoch * epoch)
}

// ancestry lets the EVM read the headers of earlier blocks.
type ancestry struct{ *history }

var _ core.ChainContext = ancestry{}

// author names who made a block. The EVM asks the engine for nothing else.
type author struct{ consensus.Engine }

func (author) Author(h *types.Header) (common.Address, error) { return h.Coinbase, nil }

func (a ancestry) Engine() consensus.Engine     { return author{} }
func (a ancestry) Config() *params.ChainConfig  { return a.config }
func (a ancestry) CurrentHeader() *types.Header { return a.newest().Header() }

func (a ancestry) GetHeader(hash common.Hash, _ uint64) *types.Header { return a.GetHeaderByHash(hash) }

func (a ancestry) GetHeaderByNumber(number uint64) *types.Header { return headerOf(a.numbered(number)) }

func (a ancestry) GetHeaderByHash(hash common.Hash) *types.Header { return headerOf(a.hashed(hash)) }

func headerOf(b *block) *types.Header {
	if b == nil {
		return nil
	}
	return b.Header()
}

// HashAt is the hash of the block of a number, or zero if there is none.
func (h *history) HashAt(number uint64) common.Hash {
	if b := h.numbered(number); b != nil {
		return b.Hash()
	}
	return common.Hash{}
}
