package server_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
)

// withKeyRing starts a service, and a ring as another process on its store has it.
func withKeyRing(t *testing.T, kind engine) (caller, *server.KeyRing) {
	t.Helper()
	var store store.Store
	c := setup(t, &servertest.Options{Store: kind.open, Configure: func(cfg *server.Config) { store = cfg.Store }})
	ring, err := server.NewKeyRing(server.KeyRingConfig{Store: store, Clock: c.Clock.Now})
	require.NoError(t, err)
	return c, ring
}

// signedBy is the kid of a token of the service, which must be good.
func (c caller) signedBy(t *testing.T, token string) string {
	t.Helper()
	v := mandate.Verifier{Issuer: c.URL, Keys: mandate.RemoteKeys(c.URL + "/.well-known/jwks.json"), Clock: c.Clock.Now}
	m, err := v.Verify(t.Context(), token)
	require.NoError(t, err)
	return m.KeyID
}

// TestRotationUnderLoad is must-show 4: 1,000 charges run while the keys rotate
// twice, on mandates of the old keys and of the new ones; none fails.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			rotateUnderLoad(t, kind)
		})
	}
}

func rotateUnderLoad(t *testing.T, kind engine) {
	t.Helper()
	c, ring := withKeyRing(t, kind)
	const callers, each = 10, 100
	first := c.mandate(t, 100, 1_000_000)
	var done atomic.Int64
	halfway, over := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			m := first
			for n := range each {
				if n%20 == 19 {
					m = c.mandate(t, 100, 1_000_000)
				}
				ch, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USD, Description: strconv.Itoa(i)})
				require.NoError(t, err)
				require.Equal(t, client.Completed, ch.Status)
				switch done.Add(1) {
				case callers * each / 4:
					close(halfway)
				case callers * each * 5 / 8:
					close(over)
				}
			}
		})
	}
	var signed []string
	for _, due := range []chan struct{}{halfway, over} {
		<-due
		c.Clock.Advance(6 * time.Minute) // the next key was published long enough ago
		k, err := ring.Rotate(t.Context(), false)
		require.NoError(t, err)
		signed = append(signed, k.ID)
	}
	all.Wait()
	require.EqualValues(t, callers*each, done.Load())
	c.sound(t, callers*each)

	require.Eventually(t, func() bool { // the service takes the rotation up by itself
		return c.signedBy(t, c.mandate(t, 1, 1)) == signed[1]
	}, time.Minute, 50*time.Millisecond)
	list, err := ring.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, list[0].ID, c.signedBy(t, first), "what a retired key signed stays valid")
	require.Equal(t, []mandate.KeyState{"retired", "retired", "current", "next"}, []mandate.KeyState{list[0].State, list[1].State, list[2].State, list[3].State})
}

// TestARevokedKeysMandatesAreRefused, by a running service that receives no notice.
func TestARevokedKeysMandatesAreRefused(t *testing.T) {
	t.Parallel()
	c, ring := withKeyRing(t, onSQLite)
	m := c.mandate(t, 100, 1000)
	_, err := ring.Revoke(t.Context(), c.signedBy(t, m))
	require.NoError(t, err)
	n := 0
	require.Eventually(t, func() bool {
		n++
		return c.charge(t, m, 1, strconv.Itoa(n)).Status == 403
	}, time.Minute, 50*time.Millisecond)
	c.charge(t, m, 1, "refused").refused(t, 403, "mandate_invalid")
	fresh := c.mandate(t, 100, 1000)
	c.charge(t, fresh, 1, "fresh").ok(t)
	keys := c.do(t, "GET", "/.well-known/jwks.json", "").ok(t)
	require.Len(t, keys.Body["keys"], 2)
}
