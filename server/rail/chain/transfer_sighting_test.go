package chain_test

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// bring broadcasts a signed transfer as a bystander.
func (w *world) bring(t *testing.T, e x402.Exact) common.Hash {
	t.Helper()
	a, err := evm.ParseAuthorization(e.Authorization)
	require.NoError(t, err)
	call := contracts.NewTestUSDC().PackTransferWithAuthorization(
		a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, hexutil.MustDecode(e.Signature))
	hash := w.send(t, devchain.Wallets()[8], devchain.USDC(), call)
	require.EqualValues(t, 1, w.mined(t, hash).Status)
	return hash
}

// TestTransferByOthersCountsOnlyIfVerifiedBefore checks that an authorization that was
// verified unused is settled if another sender broadcasts it, also after a restart and by
// another instance. One that the rail first sees on the chain is not.
func TestTransferByOthersCountsOnlyIfVerifiedBefore(t *testing.T) {
	t.Parallel()
	for name, started := range map[string]bool{"started": true, "not started": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, devchain.Config{}, func(c *chain.Config) { c.OnRevoked = nil })
			if started {
				require.NoError(t, w.rail.Start(t.Context()))
			}
			known, other, lifted := w.authorize(t, devchain.Wallets()[0]), w.authorize(t, devchain.Wallets()[1]), w.authorize(t, devchain.Wallets()[2])
			for _, e := range []x402.Exact{known, other} {
				v, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
				require.NoError(t, err)
				require.True(t, v.IsValid, v.InvalidMessage)
			}
			hash := w.bring(t, known)
			w.bring(t, other)
			w.bring(t, lifted)
			w.restart(t)
			s := w.settle(t, lifted)
			require.Equal(t, []any{false, x402.ReasonNonceUsed}, []any{s.Success, s.ErrorReason})
			s, err := w.rail.SettleAuthorization(t.Context(), other, resource+"/other")
			require.NoError(t, err)
			require.Equal(t, x402.ReasonNonceUsed, s.ErrorReason, "verified for another resource")
			beside := w.beside(t, nil)
			s, err = beside.SettleAuthorization(t.Context(), known, resource)
			require.NoError(t, err)
			require.Equal(t, []any{true, hash.Hex()}, []any{s.Success, s.Transaction}, s.ErrorMessage)
			require.Equal(t, x402.ReasonDuplicate, w.settle(t, known).ErrorReason)
		})
	}
}

// TestPendingSettlementSucceedsForItsFirstCaller checks that callers with another key, or
// none, cannot claim a pending settlement.
func TestPendingSettlementSucceedsForItsFirstCaller(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	e := w.authorize(t, devchain.Wallets()[0])
	as := func(key string) x402.Settlement {
		s, err := w.rail.SettleOnce(t.Context(), e, rail.SettleRequest{Resource: resource, IdempotencyKey: key})
		require.NoError(t, err)
		return s
	}
	require.Equal(t, x402.ReasonPending, as("claim 1").ErrorReason)
	require.Equal(t, x402.ReasonPending, as("").ErrorReason)
	w.commit(t, 1)
	for _, key := range []string{"", "claim 2"} {
		require.Eventually(t, func() bool { return as(key).ErrorReason == x402.ReasonDuplicate }, time.Minute, time.Millisecond)
	}
	require.Equal(t, []bool{true, false}, func() []bool { s := as("claim 1"); return []bool{s.Success, s.Replayed} }())
	require.Equal(t, []bool{true, true}, func() []bool { s := as("claim 1"); return []bool{s.Success, s.Replayed} }())
	require.Equal(t, dollar, w.moved(t))
}
