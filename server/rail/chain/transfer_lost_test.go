package chain_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
)

// lose uses the nonce of the relayer's waiting transaction for another one.
func (w *world) lose(t *testing.T) {
	t.Helper()
	w.chain.Forget()
	w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil)
	w.commit(t, 1)
}

// TestTemporaryRefusalAfterALostNonceIsNotKept empties the payer's balance before the
// authorization is sent again. With a new balance the authorization is settled; only its
// expiry is final.
func TestTemporaryRefusalAfterALostNonceIsNotKept(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	from := devchain.Wallets()[0]
	first, second := w.authorize(t, from), w.authorize(t, from)
	require.Equal(t, x402.ReasonPending, w.settle(t, first).ErrorReason)
	w.lose(t)
	w.send(t, from, devchain.USDC(), contracts.NewTestUSDC().PackTransfer(devchain.Payee(3).Address, big.NewInt(devchain.WalletMicros)))
	w.commit(t, 1)
	require.Equal(t, x402.ReasonInsufficientFunds, w.settle(t, first).ErrorReason)
	w.send(t, devchain.Wallets()[9], devchain.USDC(), contracts.NewTestUSDC().PackMint(from.Address, big.NewInt(int64(2*dollar))))
	w.commit(t, 1)
	require.Equal(t, x402.ReasonPending, w.settle(t, first).ErrorReason)
	w.commit(t, 1)
	require.True(t, w.ended(t, first).Success)
	require.Equal(t, dollar, w.moved(t))

	require.Equal(t, x402.ReasonPending, w.settle(t, second).ErrorReason)
	w.lose(t)
	require.NoError(t, w.chain.AdvanceTime(2*time.Hour))
	w.commit(t, 1)
	require.Equal(t, x402.ReasonValidBefore, w.ended(t, second).ErrorReason)
	require.Contains(t, strings.Join(w.records(t, "authorization"), ""), `"failed":"`+string(x402.ReasonValidBefore), "it cannot change")
	require.Equal(t, dollar, w.moved(t))
}
