package chain_test

import (
	"context"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
)

// wrong returns configurations that the development chain contradicts, by field.
func wrong() map[string][]func(*chain.Config) {
	return map[string][]func(*chain.Config){
		"ChainID": {func(c *chain.Config) { c.ChainID = 8453 }},
		"Router": {
			func(c *chain.Config) { c.Router = devchain.Payee(1).Address }, // nothing is there
			func(c *chain.Config) { c.Router = devchain.USDC() },           // another contract
		},
		"Token": {
			func(c *chain.Config) { c.Token.Address = devchain.Payee(1).Address },
			func(c *chain.Config) { c.Token.Address = devchain.Router() },
			func(c *chain.Config) { c.Token.Name = "USD Coin" },
			func(c *chain.Config) { c.Token.Version = "1" },
		},
		"Relayer": {func(c *chain.Config) { c.Relayer = devchain.Wallets()[0].Key() }},
	}
}

func TestCheckFindsWhatTheChainContradicts(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	good := w.config
	good.Vault = nil // it takes none
	require.NoError(t, chain.Check(t.Context(), good))
	for field, changes := range wrong() {
		for i, change := range changes {
			c := good
			change(&c)
			var contradicted *chain.ConfigError
			require.ErrorAs(t, chain.Check(t.Context(), c), &contradicted, "%s %d", field, i)
			require.Equal(t, field, contradicted.Field, "%d: %s", i, contradicted.Problem)
		}
	}
	require.ErrorContains(t, chain.Check(t.Context(), chain.Config{}), "RPC")
	good.RPC = silent{good.RPC}
	require.ErrorIs(t, chain.Check(t.Context(), good), errNode, "a node that does not tell is no contradiction")
}

// silent is a node that fails all calls of contracts.
type silent struct{ chain.RPC }

func (silent) CallContract(context.Context, ethereum.CallMsg, *big.Int) ([]byte, error) {
	return nil, errNode
}

// TestStartRefusesWhatItIsNotFor covers configurations that the chain contradicts, and
// the records of another relayer, router or token.
func TestStartRefusesWhatItIsNotFor(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	require.NoError(t, w.rail.Close())
	for field, changes := range wrong() {
		w.refusesToStart(t, field, changes[0])
	}
	// Another relayer that the router takes, with these records.
	hash := w.send(t, devchain.Admin(), devchain.Router(), contracts.NewMandateRouter().PackSetOperator(devchain.Payee(5).Address, true))
	require.Equal(t, types.ReceiptStatusSuccessful, w.mined(t, hash).Status)
	w.refusesToStart(t, "Relayer", func(c *chain.Config) { c.Relayer = devchain.Payee(5).Key() })
	w.open(t)
	require.NoError(t, w.rail.Start(t.Context()))
}

func (w *world) refusesToStart(t *testing.T, field string, change func(*chain.Config)) {
	t.Helper()
	c := w.config
	change(&c)
	var err error
	c.Store, err = sqlite.Open(t.Context(), w.path)
	require.NoError(t, err)
	r, err := chain.New(c)
	require.NoError(t, err)
	var contradicted *chain.ConfigError
	require.ErrorAs(t, r.Start(t.Context()), &contradicted, field)
	require.Equal(t, field, contradicted.Field)
	require.NoError(t, r.Close())
}

// counting counts the blocks whose events the watcher reads.
type counting struct {
	chain.RPC

	blocks atomic.Int64
}

func (c *counting) FilterLogs(ctx context.Context, q ethereum.FilterQuery) ([]types.Log, error) {
	c.blocks.Add(q.ToBlock.Int64() - q.FromBlock.Int64() + 1)
	return c.RPC.FilterLogs(ctx, q)
}

// TestWatcherOfNewRecordsBeginsAtTheNewestBlock checks that the watcher does not read
// blocks older than the first grant, and misses no grant from before Start.
func TestWatcherOfNewRecordsBeginsAtTheNewestBlock(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"new": false, "granted before": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := &counting{}
			w := setup(t, devchain.Config{}, func(c *chain.Config) { asked.RPC, c.RPC = c.RPC, asked })
			const past = 50
			var in rail.Instrument
			if before {
				in = w.connect(t, "setup", chain.MethodWallet)
				w.revokeOnChain(t, in)
			}
			w.commit(t, past)
			require.NoError(t, w.rail.Start(t.Context()))
			if !before {
				in = w.connect(t, "setup", chain.MethodWallet)
				w.revokeOnChain(t, in)
			}
			require.Eventually(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.revoked) == 1 }, time.Minute, time.Millisecond)
			require.Equal(t, before, asked.blocks.Load() >= past)
		})
	}
}

// revokeOnChain revokes as the owner, and waits for the block.
func (w *world) revokeOnChain(t *testing.T, in rail.Instrument) {
	t.Helper()
	hash := w.send(t, ownerOf(t, in), devchain.Router(), contracts.NewMandateRouter().PackRevoke(common.HexToHash(in.Method)))
	require.Equal(t, types.ReceiptStatusSuccessful, w.mined(t, hash).Status)
}
