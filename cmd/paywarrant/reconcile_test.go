package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestReconcileSaysWhatItCouldNotCompare: charges and refunds on a rail that is not configured.
func TestReconcileSaysWhatItCouldNotCompare(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	since := time.Now().Add(-3 * time.Hour)
	p.refunded(t, p.paid(t, p.merchant(t), "x", 10_000, since), since.Add(time.Hour))
	for _, c := range []struct {
		from       time.Time
		uncompared int
	}{{time.Time{}, 2}, {since.Add(time.Minute), 1}, {since.Add(2 * time.Hour), 0}} {
		args := []string{"reconcile", "--from", c.from.UTC().Format(time.RFC3339)}
		text, err := p.do(t, args...)
		object, _ := p.do(t, append(args, "--json")...)
		if c.uncompared == 0 {
			require.NoError(t, err)
			require.NotContains(t, text, "not compared")
			require.NotContains(t, object, "uncompared")
			continue
		}
		require.Equal(t, exitIncomplete, exitCode(err))
		require.ErrorIs(t, err, errSaid)
		require.Contains(t, text, "chainrail cannot list its movements")
		require.Contains(t, text, fmt.Sprintf("0 differences; %d charges and refunds were not compared", c.uncompared))
		require.Contains(t, object, fmt.Sprintf(`"unlistedRails":["chainrail"],"uncompared":%d`, c.uncompared))
	}
}

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
