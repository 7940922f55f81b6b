package chain_test

import (
	"context"
	"errors"
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

// TestRevokedWhileItsGrantCameUndone checks that a grant that a reorganization undid,
// and that will be on the chain again, is not treated as one that never existed.
func TestRevokedWhileItsGrantCameUndone(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, nil)
	w.commit(t, 2)
	before := w.head(t)
	in := w.connectManually(t, "setup", chain.MethodWallet)
	require.NoError(t, w.chain.Reorg(t.Context(), int(w.head(t)-before), true))
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

// TestChargeWhileItsGrantCameUndoneIsNotRefused checks that a charge stays undecided while
// a reorganization has taken its grant and allowance off the chain. The relayer sends them
// again, and the charge succeeds.
func TestChargeWhileItsGrantCameUndoneIsNotRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 20 * time.Millisecond })
	w.commit(t, 2)
	before := w.head(t)
	in := w.connectManually(t, "setup", chain.MethodWallet)
	require.NoError(t, w.chain.Reorg(t.Context(), int(w.head(t)-before), true))
	_, err := w.rail.Charge(t.Context(), charge("txn", in))
	require.ErrorContains(t, err, "not on the chain now")
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		outcome, err := w.rail.Charge(t.Context(), charge("txn", in))
		return err == nil && outcome.Status == rail.Succeeded
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, dollar, w.moved(t))
}

// TestGrantThatLostItsNonceIsRelayedAgain checks that a connected grant is submitted again
// if a reorganization undid it and another program then used the nonce of its
// transaction. Without that its charges would stay undecided for good.
func TestGrantThatLostItsNonceIsRelayedAgain(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 20 * time.Millisecond })
	w.commit(t, 2)
	before := w.head(t)
	in := w.connectManually(t, "setup", chain.MethodWallet)
	require.NoError(t, w.chain.Reorg(t.Context(), int(w.head(t)-before), true))
	w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil) // the same nonce
	w.commit(t, 1)
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		outcome, err := w.rail.Charge(t.Context(), charge("txn", in))
		require.NotEqual(t, rail.Refused, outcome.Status)
		return err == nil && outcome.Status == rail.Succeeded
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, dollar, w.moved(t))
}

func (w *world) head(t *testing.T) uint64 {
	t.Helper()
	n, err := w.chain.Client().BlockNumber(t.Context())
	require.NoError(t, err)
	return n
}

// state returns the state of an instrument's grant on the chain.
func (w *world) state(t *testing.T, in rail.Instrument) uint8 {
	t.Helper()
	router, at := contracts.NewMandateRouter(), w.chain.Router()
	answer, err := w.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &at, Data: router.PackMandate(common.HexToHash(in.Method))}, nil)
	require.NoError(t, err)
	m, err := router.UnpackMandate(answer)
	require.NoError(t, err)
	return m.State
}

// TestRevokedBeforeItsSessionIsDecided checks that a grant that ends while its session is
// pending is reported until the session is decided, also after a restart, and not again.
func TestRevokedBeforeItsSessionIsDecided(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	told := make(chan rail.Ended)
	answers := make(chan error)
	tell := func(ctx context.Context, e rail.Ended) error {
		select {
		case told <- e:
			return <-answers
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.rail.OnRevoked(tell)
	in, err := w.rail.Connect(t.Context(), rail.Connection{Reference: "setup", Method: chain.MethodWallet, Session: "session"})
	require.NoError(t, err)
	w.mined(t, w.send(t, ownerOf(t, in), w.chain.Router(), contracts.NewMandateRouter().PackRevoke(common.HexToHash(in.Method))))
	require.NoError(t, w.rail.Start(t.Context()))
	hear := func(answer error) {
		select {
		case e := <-told:
			require.Equal(t, rail.Ended{Method: in.Method, Session: "session"}, e)
			answers <- answer
		case <-time.After(time.Minute):
			t.Fatal("nothing was told")
		}
	}
	for range 3 {
		hear(rail.ErrUndecided)
	}
	w.restart(t)
	w.rail.OnRevoked(tell)
	require.NoError(t, w.rail.Start(t.Context()))
	hear(rail.ErrUndecided)
	hear(errors.New("the database is away"))
	hear(nil)
	select {
	case <-told:
		t.Fatal("it was told of what it knows")
	case <-time.After(2 * time.Second):
	}
}

// TestRevokedBeforeItIsBound checks that a grant that ends before it is bound ends its
// mandate: it is reported with its session, and again when it is bound.
func TestRevokedBeforeItIsBound(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	told := make(chan rail.Ended, 2)
	w.rail.OnRevoked(func(_ context.Context, e rail.Ended) error { told <- e; return nil })
	in, err := w.rail.Connect(t.Context(), rail.Connection{Reference: "setup", Method: chain.MethodWallet, Session: "session"})
	require.NoError(t, err)
	w.mined(t, w.send(t, ownerOf(t, in), w.chain.Router(), contracts.NewMandateRouter().PackRevoke(common.HexToHash(in.Method))))
	require.NoError(t, w.rail.Start(t.Context()))
	require.Equal(t, rail.Ended{Method: in.Method, Session: "session"}, <-told)
	require.NoError(t, w.rail.Bind(t.Context(), in, "del_1"))
	require.Equal(t, rail.Ended{Method: in.Method, MandateID: "del_1"}, <-told)
}
