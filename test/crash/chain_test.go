package main

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// The service dies between broadcast and receipt, and comes back: one transfer on
// the chain, one captured charge.
func TestKilledBetweenBroadcastAndReceipt(t *testing.T) {
	t.Parallel()
	kills := 2 * (len(labelled) + 1)
	if testing.Short() {
		kills /= 2
	}
	r, err := runChain(t.Context(), options{Kills: kills, Callers: 4, Seed: 7})
	t.Log(r)
	require.NoError(t, err)
	require.False(t, r.failed(), r.String())
}

// The service dies at steps of the chain rail, and comes back: grants, charges,
// revocations, signed transfers and nonces are the same everywhere. All steps are the
// drill's: go -C test run ./crash -chain -points.
func TestKilledAtPointsOfTheChain(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{"SQLite": {}, "PostgreSQL": {Postgres: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Points, o.Kills, o.Callers, o.Seed = true, 1, 2, 7
			o.Only = []failpoint.Point{
				failpoint.GrantStored, failpoint.ConnectDecided, failpoint.TransferStored, failpoint.TransferLanded, failpoint.NonceLost,
				failpoint.ReplacementStored, failpoint.KeyDestroyed, failpoint.WatcherDestroyed, failpoint.AuthorizationSent,
				failpoint.RecordsCommitted, failpoint.CaptureBegun, failpoint.HoldExpired,
				failpoint.RefundProposed, failpoint.RefundConcluded, failpoint.SettlementBegun, failpoint.SettlementRecorded,
			}
			r, err := runChain(t.Context(), o)
			skipWithoutPostgres(t, err)
			t.Log(r)
			require.NoError(t, err)
			require.False(t, r.failed(), r.String())
			require.Positive(t, r.Upto)
		})
	}
}

// Three blocks come undone under a settled charge, with its transaction: the state
// follows the chain, and nothing is paid twice, over a kill as well.
func TestReorganizedUnderASettledCharge(t *testing.T) {
	t.Parallel()
	d := newChainDrill(options{Callers: 1})
	t.Cleanup(func() { require.NoError(t, d.clear()) })
	require.NoError(t, d.begin(t.Context()))
	blocks := func(n int) {
		for range n {
			_, err := d.node.chain.Commit()
			require.NoError(t, err)
		}
	}
	blocks(4)
	p := client.ChargeParams{Mandate: d.mandates[0], AmountCents: 250, Currency: client.USDC, Description: "drill", IdempotencyKey: "k"}
	paid, err := d.merchant.Charge(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, client.Completed, paid.Status)
	for round := range 2 {
		blocks(2)
		require.NoError(t, d.node.chain.Reorg(t.Context(), 3, true))
		if round == 1 {
			require.NoError(t, d.service.running.Kill())
			_, err := d.service.start(t.Context())
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool {
			moved, err := d.readChain(t.Context())
			return err == nil && len(moved.charged) == 1
		}, time.Minute, 10*time.Millisecond, "the chain has it again")
		again, err := d.merchant.Charge(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, paid.TxHash, again.TxHash)
		require.Equal(t, client.Completed, again.Status)
	}
	moved, err := d.readChain(t.Context())
	require.NoError(t, err)
	for _, transfers := range moved.charged {
		require.Equal(t, []transfer{{hash: common.HexToHash(paid.TxHash), to: devchain.Payee(0).Address, micros: 2_500_000}}, transfers)
	}
}
