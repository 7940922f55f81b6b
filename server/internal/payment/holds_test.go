package payment_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// unvoidable is a store that cannot void one charge.
type unvoidable struct {
	store.Store

	id string
}

func (s *unvoidable) Update(ctx context.Context, k ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	return s.Store.Update(ctx, k, func(state *ledger.State) (ledger.Effects, error) {
		e, err := decide(state)
		for _, c := range e.Update.Charges {
			if c.ID == s.id && c.Status == ledger.ChargeVoided {
				return ledger.Effects{}, ledger.ErrInvariant
			}
		}
		return e, err
	})
}

// TestHoldThatCannotBeVoidedKeepsNoOtherWaiting: authorizations expire one by one.
func TestHoldThatCannotBeVoidedKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	now, broken := &clock.Movable{}, &unvoidable{Store: st}
	i := newInstance(t, broken, now.Now, newPuppet(rail.Chain))
	m := i.pending(t, now.Now, 1, rail.Chain)[0].MandateID
	var held []ledger.Charge
	for n := range 3 {
		r, err := i.ledger.Reserve(t.Context(), ledger.Reserve{
			ChargeID: fmt.Sprintf("txn_%d", n), MandateID: m, TokenValid: true, Payee: ledger.Merchant{ID: "mer_1", Active: true}, Amount: 1e4, Currency: "usd",
			Rails: []rail.Name{rail.Chain}, Kind: ledger.AuthorizeKey, IdempotencyKey: fmt.Sprint(n), Fingerprint: "f", Lease: time.Second,
			Hold: time.Duration(n+1) * time.Minute,
		})
		require.NoError(t, err)
		c, err := i.ledger.Settle(t.Context(), r.Charge, ledger.Settlement{
			Rail: rail.Chain, Step: ledger.StepAuthorize, Outcome: rail.Outcome{Status: rail.Held},
		})
		require.NoError(t, err)
		held = append(held, c)
	}
	broken.id = held[0].ID
	now.Advance(10 * time.Minute)
	require.NoError(t, i.Start(t.Context()))
	for _, c := range held[1:] {
		require.Eventually(t, func() bool {
			c, err := i.ledger.Charge(t.Context(), c.ID)
			return err == nil && c.Status == ledger.ChargeVoided
		}, 10*time.Second, 20*time.Millisecond)
	}
	c, err := i.ledger.Charge(t.Context(), held[0].ID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeAuthorized, c.Status)
}
