package chain_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// ofNonce returns a change of a permit.
func ofNonce(nonce, micros uint64) func(*evm.UptoPermit) {
	return func(p *evm.UptoPermit) { p.Nonce, p.Amount = evm.Uint64(nonce), evm.Uint64(micros) }
}

// TestPermitOfAFarDeadlineReservesNothing: the payer's balance could otherwise be reserved
// for years.
func TestPermitOfAFarDeadlineReservesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	now := max(time.Now().Unix(), w.chain.Now().Unix())
	for deadline, reason := range map[int64]x402.Reason{4102444800: x402.ReasonInvalidPayload, now + 3600 + 300: x402.ReasonInvalidPayload, now + 3660: ""} {
		u := w.permit(t, from, func(p *evm.UptoPermit) {
			p.Amount, p.Deadline = evm.Uint64(devchain.WalletMicros), evm.Uint64(uint64(deadline))
		})
		require.Equal(t, reason, w.verifyUpto(t, u).InvalidReason, "%d", deadline)
	}
}

// TestCanceledPermitReservesNothing checks that a payer that cancels a permit at Permit2 has
// its balance back.
func TestCanceledPermitReservesNothing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Clock = func() time.Time { return now }
	})
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	whole := w.permit(t, from, ofNonce(777, devchain.WalletMicros))
	require.True(t, w.verifyUpto(t, whole).IsValid)
	small := w.permit(t, from, ofNonce(5, 10_000))
	require.Equal(t, x402.ReasonInsufficientFunds, w.verifyUpto(t, small).InvalidReason)
	cancel := contracts.NewTestPermit2().PackInvalidateUnorderedNonces(big.NewInt(777>>8), new(big.Int).Lsh(big.NewInt(1), 777&255))
	w.send(t, from, evm.Permit2(), cancel)
	w.commit(t, 1)
	require.Equal(t, x402.ReasonInsufficientFunds, w.verifyUpto(t, small).InvalidReason, "Permit2 is asked rarely")
	now = now.Add(10 * time.Second)
	require.True(t, w.verifyUpto(t, small).IsValid)
}

// TestPermitIsForOneRequest: two gates would serve it, and one would be paid.
func TestPermitIsForOneRequest(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	verify := func(u x402.Upto, q rail.SettleRequest) x402.Reason {
		v, err := w.rail.VerifyUpto(t.Context(), u, q)
		require.NoError(t, err)
		return v.InvalidReason
	}
	settle := func(u x402.Upto, amount string, q rail.SettleRequest) x402.Settlement {
		s, err := w.rail.SettleUpto(t.Context(), u, amount, q)
		require.NoError(t, err)
		return s
	}
	mine := rail.SettleRequest{Resource: resource, IdempotencyKey: "one"}
	u := w.permit(t, from, ofNonce(1, uint64(dollar)))
	require.Empty(t, verify(u, mine))
	require.Empty(t, verify(u, mine), "again")
	for name, q := range map[string]rail.SettleRequest{
		"another key":      {Resource: resource, IdempotencyKey: "two"},
		"no key":           {Resource: resource},
		"another resource": {Resource: "https://b.example/2", IdempotencyKey: "one"},
	} {
		require.Equal(t, x402.ReasonUptoNonce, verify(u, q), name)
		for _, amount := range []string{cents, "0"} {
			s := settle(u, amount, q)
			require.Equal(t, []any{false, x402.ReasonUptoNonce}, []any{s.Success, s.ErrorReason}, name)
		}
	}
	require.True(t, settle(u, cents, mine).Success)

	keyless := w.permit(t, from, ofNonce(2, uint64(dollar)))
	require.Empty(t, verify(keyless, rail.SettleRequest{Resource: resource}))
	require.Equal(t, x402.ReasonUptoNonce, verify(keyless, mine))
	require.True(t, settle(keyless, cents, mine).Success, "a server that sends its key only to settle")
	require.EqualValues(t, 80_000, w.moved(t))
}
