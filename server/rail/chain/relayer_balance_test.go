package chain_test

import (
	"context"
	"log/slog"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// alarms counts warnings with one text.
type alarms struct {
	slog.Handler

	text string
	n    *atomic.Int64
}

func (a alarms) Enabled(context.Context, slog.Level) bool { return true }

func (a alarms) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && r.Message == a.text {
		a.n.Add(1)
	}
	return nil
}

// TestLowBalanceOfTheRelayerIsLogged checks that a low balance is logged at the start,
// before the relayer spends, and that a sufficient one is not.
func TestLowBalanceOfTheRelayerIsLogged(t *testing.T) {
	t.Parallel()
	for name, low := range map[string]*big.Int{"low": new(big.Int).Lsh(big.NewInt(1), 200), "enough": big.NewInt(1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := alarms{slog.DiscardHandler, "relayer's balance is low", &atomic.Int64{}}
			w := setup(t, devchain.Config{}, func(c *chain.Config) { c.LowBalanceWei, c.Logger = low, slog.New(told) })
			require.NoError(t, w.rail.Start(t.Context()))
			if name == "low" {
				require.Eventually(t, func() bool { return told.n.Load() == 1 }, time.Minute, time.Millisecond)
				return
			}
			w.connect(t, "setup", chain.MethodWallet)
			require.Zero(t, told.n.Load())
		})
	}
}
