package chain_test

import (
	"context"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// asked is a node that counts some of its calls, and announces its blocks.
type asked struct {
	chain.RPC

	inside          *devchain.Chain
	numbers, nonces *atomic.Int64
}

func (a asked) NextBlock() <-chan struct{} { return a.inside.NextBlock() }

func (a asked) BlockNumber(ctx context.Context) (uint64, error) {
	a.numbers.Add(1)
	return a.RPC.BlockNumber(ctx)
}

func (a asked) NonceAt(ctx context.Context, account common.Address, block *big.Int) (uint64, error) {
	a.nonces.Add(1)
	return a.RPC.NonceAt(ctx, account, block)
}

// announced starts a world whose node announces its blocks.
func announced(t *testing.T, poll time.Duration) (*world, asked) {
	t.Helper()
	node := asked{numbers: &atomic.Int64{}, nonces: &atomic.Int64{}}
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.Poll = poll })
	require.NoError(t, w.rail.Close())
	node.RPC, node.inside = w.config.RPC, w.chain
	w.config.RPC = node
	w.open(t)
	return w, node
}

// TestAnnouncedBlocksWakeTheRail covers calls that wait for a payment, and the watcher.
func TestAnnouncedBlocksWakeTheRail(t *testing.T) {
	t.Parallel()
	w, _ := announced(t, time.Hour)
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	w.send(t, ownerOf(t, in), w.chain.Router(), contracts.NewMandateRouter().PackRevoke(common.HexToHash(in.Method)))
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.revoked) == 1
	}, 20*time.Second, 5*time.Millisecond)
}

// TestAtRestTheRailAsksForTheNewestHeaderOnly checks that rounds of tend, which read the
// nonce, are skipped, and that the watcher calls nothing.
func TestAtRestTheRailAsksForTheNewestHeaderOnly(t *testing.T) {
	t.Parallel()
	w, node := announced(t, 5*time.Millisecond)
	in := w.connect(t, "setup", chain.MethodWallet)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	require.NoError(t, w.rail.Start(t.Context()))
	calm := func() bool { // for three rounds
		numbers, nonces := node.numbers.Load(), node.nonces.Load()
		time.Sleep(1600 * time.Millisecond)
		return node.numbers.Load() == numbers && node.nonces.Load() == nonces
	}
	require.Eventually(t, calm, 30*time.Second, time.Millisecond)
}
