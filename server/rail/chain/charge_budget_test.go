package chain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// TestChargesForWalletsCountInTheGasBudget checks that an agent that pays a wallet of its own
// cannot make the relayer pay for one charge after another.
func TestChargesForWalletsCountInTheGasBudget(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		c.Authorizations = chain.Authorizations{PayerGas: 1_000_000}
		c.Clock = func() time.Time { return now } // of one hour
	})
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	before := w.balance(t, ownerOf(t, in).Address)
	paid := 0
	for ; paid < 20; paid++ {
		c := charge(fmt.Sprint("txn", paid), in)
		c.MerchantID, c.Amount = "wallet:"+c.PayTo, 1
		if got := w.pay(t, c); got.Status == rail.Refused {
			require.Equal(t, rail.Unavailable, got.Reason)
			require.Equal(t, got, w.pay(t, c), "a repeat moves nothing either")
			break
		}
	}
	require.Positive(t, paid)
	require.Less(t, paid, 20, "the relayer pays for any number of charges")
	require.Equal(t, before-rail.Micros(paid), w.balance(t, ownerOf(t, in).Address))
	require.Equal(t, rail.Succeeded, w.pay(t, charge("sale", in)).Status, "a merchant owes a fee")
}
