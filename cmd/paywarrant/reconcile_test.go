package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestReconcileFailsOnADifference: a charge of the ledger that no rail has moved.
func TestReconcileFailsOnADifference(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	shop := p.merchant(t)
	clean := p.ok(t, "reconcile")
	require.Len(t, clean, 1)
	require.EqualValues(t, 0, clean[0]["differences"])

	c := p.paid(t, shop, "x", 10_000, time.Now().Add(-3*time.Hour))
	require.Empty(t, p.ok(t, "refunds", "list", c.ID))
	_, err := p.do(t, "refunds", "list", "txn_1")
	require.ErrorContains(t, err, "not found")
	require.Equal(t, []any{"chainrail"}, p.ok(t, "reconcile")[0]["unlistedRails"], "no such rail is configured")

	store, err := sqlite.Open(t.Context(), p.store)
	require.NoError(t, err)
	c.ID, c.Rail, c.Rails, c.Amount, c.Fee = id.New(id.Charge, c.CreatedAt), rail.Card, []rail.Name{rail.Card}, 1_000_000, 0
	require.NoError(t, store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
		return ledger.Effects{Insert: ledger.Rows{Charges: []ledger.Charge{c}}}, nil
	}))
	require.NoError(t, store.Close())
	text, err := p.do(t, "reconcile")
	require.ErrorIs(t, err, errSaid)
	require.Contains(t, text, "charge_without_movement: "+c.ID+" on fiatrail: recorded $1.00, moved $0.00")
	require.Contains(t, text, ": 1 differences")
	require.EqualValues(t, 0, p.ok(t, "reconcile", "--from", time.Now().UTC().Format(time.RFC3339))[0]["differences"])
}
