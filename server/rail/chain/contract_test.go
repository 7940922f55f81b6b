package chain_test

import (
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/railtest"
)

func fixture(w *world) railtest.Fixture {
	return railtest.Fixture{
		Rail: w.rail, Works: chain.MethodWallet, Amount: dollar, PayTo: payTo(),
		RefusedAtConnect: chain.MethodRefused, ConnectReason: rail.AllowanceMissing,
		RefusedAtCharge: chain.MethodEmpty, ChargeReason: rail.InsufficientFunds,
		Moved: w.moved, Restart: w.restart,
	}
}

func TestRailKeepsTheContract(t *testing.T) {
	t.Parallel()
	railtest.Run(t, func(t *testing.T) railtest.Fixture {
		t.Helper()
		return fixture(setup(t, devchain.Config{}, nil))
	})
}

// TestRailKeepsTheContractThreeBlocksDeep runs the contract with outcomes that are not
// final when Charge returns.
func TestRailKeepsTheContractThreeBlocksDeep(t *testing.T) {
	t.Parallel()
	railtest.Run(t, func(t *testing.T) railtest.Fixture {
		t.Helper()
		w := setup(t, devchain.Config{}, func(c *chain.Config) {
			c.Confirmations, c.Wait = 3, 20*time.Millisecond
		})
		f := fixture(w)
		f.Advance = func(t *testing.T) {
			t.Helper()
			w.commit(t, 1)
		}
		return f
	})
}
