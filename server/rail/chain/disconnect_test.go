package chain_test

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// TestRevokedWhileItsGrantCameUndone: a grant that is not on the chain now comes back,
// so that it is not taken for one that never was.
func TestRevokedWhileItsGrantCameUndone(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, nil)
	w.commit(t, 2)
	in := w.connectManually(t, "setup", chain.MethodWallet)
	require.NoError(t, w.chain.Reorg(t.Context(), 1, true))
	require.Error(t, w.rail.Disconnect(t.Context(), in))
	require.NoError(t, w.rail.Start(t.Context())) // sends the grant again
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return w.rail.Disconnect(t.Context(), in) == nil
	}, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return w.state(t, in) == contracts.StateRevoked
	}, time.Minute, 50*time.Millisecond)
}

// state is that of an instrument's grant on the chain.
func (w *world) state(t *testing.T, in rail.Instrument) uint8 {
	t.Helper()
	router, at := contracts.NewMandateRouter(), w.chain.Router()
	answer, err := w.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &at, Data: router.PackMandate(common.HexToHash(in.Method))}, nil)
	require.NoError(t, err)
	m, err := router.UnpackMandate(answer)
	require.NoError(t, err)
	return m.State
}
