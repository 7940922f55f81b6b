package server_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// leftOpen stays open when the service that it is given to closes.
type leftOpen struct{ store.Store }

func (leftOpen) Close() error { return nil }

// TestKeyEncryptionKeyRotatesUnderCharges: all that is sealed is wrapped under a new
// key while people set up and merchants charge; then the old key is gone, and
// everything still opens, in the running service and in a new one.
func TestKeyEncryptionKeyRotatesUnderCharges(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]engine{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "kek")
			wrapper, err := vault.KeyFile(file)
			require.NoError(t, err)
			var store store.Store
			var rails []rail.Rail
			c := setup(t, &servertest.Options{Store: engine.open, Merchant: server.MerchantParams{Name: "Shop", PayTo: shopWallet}, Configure: func(cfg *server.Config) {
				cfg.Wrapper, store, rails = wrapper, cfg.Store, cfg.Rails
			}})
			hook := c.Webhook(t)
			_, err = c.Client().RotateWebhookSecret(t.Context(), hook.Endpoint.ID)
			require.NoError(t, err)
			session, err := c.Client().CreateSession(t.Context(), client.SessionParams{
				MaxPerTxCents: 500, MaxMonthlySpendCents: 100_000, AllowedMerchantIDs: []string{"*"},
			})
			require.NoError(t, err)
			m := c.CompleteSetup(t, session.SessionToken)

			var stop atomic.Bool
			var callers sync.WaitGroup
			t.Cleanup(callers.Wait)
			t.Cleanup(func() { stop.Store(true) })
			for range 4 {
				callers.Go(func() {
					for !stop.Load() {
						ch, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USD, Description: "meanwhile"})
						if err != nil || ch.Status != client.Completed {
							t.Errorf("charge failed meanwhile: %v %v", ch.Status, err)
							return
						}
					}
				})
			}
			require.NoError(t, vault.AddKey(file))
			n, err := server.Rewrap(t.Context(), store, wrapper)
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, 6, "two signing keys, a session key, a token, two webhook secrets")
			n, err = server.Rewrap(t.Context(), store, wrapper)
			require.NoError(t, err)
			require.Zero(t, n)
			require.NoError(t, vault.ForgetKeys(file))

			again, err := c.Client().Session(t.Context(), session.SessionToken)
			require.NoError(t, err)
			require.Equal(t, m, again.Mandate)
			_, err = c.Client().CreatePresentation(t.Context(), m, purchase())
			require.NoError(t, err)
			tested, err := c.Client().TestWebhookEndpoint(t.Context(), hook.Endpoint.ID)
			require.NoError(t, err)
			require.True(t, tested.Delivered)
			stop.Store(true)
			callers.Wait()
			c.mandate(t, 500, 1000) // sealed under the new key alone

			fresh, err := vault.KeyFile(file)
			require.NoError(t, err)
			second, err := server.New(t.Context(), server.Config{BaseURL: c.URL, Mode: server.Sandbox, Store: leftOpen{store}, Rails: rails, Wrapper: fresh})
			require.NoError(t, err, "the signing keys open")
			require.NoError(t, second.Close())
			other, err := vault.NewLocal(make([]byte, 32))
			require.NoError(t, err)
			_, err = server.Rewrap(t.Context(), store, other)
			require.ErrorIs(t, err, vault.ErrSealed)
		})
	}
}
