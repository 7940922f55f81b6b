package chain_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

var errNode = errors.New("no answer")

// flaky is a node that fails some calls, forgets some transactions that it took, and
// takes some while it returns an error.
type flaky struct {
	chain.RPC

	on     atomic.Bool
	mu     sync.Mutex
	random *rand.Rand
}

// strikes reports whether a fault with a probability in percent happens.
func (f *flaky) strikes(percent int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on.Load() && f.random.IntN(100) < percent
}

func (f *flaky) SendTransaction(ctx context.Context, tx *types.Transaction) error {
	switch {
	case f.strikes(15):
		return errNode
	case f.strikes(15):
		return nil
	case f.strikes(15):
		return errors.Join(f.RPC.SendTransaction(ctx, tx), errNode)
	}
	return f.RPC.SendTransaction(ctx, tx)
}

func (f *flaky) BlockNumber(ctx context.Context) (uint64, error) {
	if f.strikes(10) {
		return 0, errNode
	}
	return f.RPC.BlockNumber(ctx)
}

func (f *flaky) NonceAt(ctx context.Context, a common.Address, block *big.Int) (uint64, error) {
	if f.strikes(10) {
		return 0, errNode
	}
	return f.RPC.NonceAt(ctx, a, block)
}

func (f *flaky) TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	if f.strikes(10) {
		return nil, errNode
	}
	return f.RPC.TransactionReceipt(ctx, hash)
}

func (f *flaky) EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error) {
	if f.strikes(10) {
		return 0, errNode
	}
	return f.RPC.EstimateGas(ctx, call)
}

// TestUnreliableNodeMovesTheMoneyOnce charges through a flaky node, from many callers,
// over restarts and reorganizations, and repeats each charge until it has ended.
func TestUnreliableNodeMovesTheMoneyOnce(t *testing.T) {
	t.Parallel()
	node := &flaky{random: rand.New(rand.NewPCG(1, 2))}
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		node.RPC = c.RPC
		c.RPC, c.Wait, c.Confirmations = node, 20*time.Millisecond, 2
	})
	in := []rail.Instrument{w.connect(t, "1", chain.MethodWallet), w.connect(t, "2", chain.MethodWallet)}
	w.commit(t, 4)
	node.on.Store(true)
	const rounds, each = 6, 10
	var sum rail.Micros
	for round := range rounds {
		charges := make([]rail.Charge, each)
		for i := range charges {
			charges[i] = charge(fmt.Sprintf("txn_%d_%d", round, i), in[i%len(in)])
			charges[i].Amount = rail.Micros(1 + round*each + i)
			sum += charges[i].Amount
		}
		first := w.rail
		var callers sync.WaitGroup
		for _, c := range append(charges, charges...) {
			callers.Go(func() { _, _ = first.Charge(t.Context(), c) })
		}
		if round%2 == 0 {
			w.restart(t)
		}
		callers.Wait()
		if round%3 == 1 {
			require.NoError(t, w.chain.Reorg(t.Context(), 1, true))
		}
		for _, c := range charges {
			w.untilSucceeded(t, c)
		}
	}
	require.Equal(t, sum, w.moved(t))
}

// untilSucceeded repeats a charge until it succeeds, as recovery does.
func (w *world) untilSucceeded(t *testing.T, c rail.Charge) {
	t.Helper()
	for range 2000 {
		outcome, err := w.rail.Charge(t.Context(), c)
		if err == nil && outcome.Status == rail.Succeeded {
			return
		}
		if err != nil {
			require.ErrorIs(t, err, errNode)
		} else {
			require.Equal(t, rail.Pending, outcome.Status, "reason %s", outcome.Reason)
		}
		w.commit(t, 1)
	}
	require.Fail(t, "charge never ends", c.Reference)
}
