package reconcile

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// listed is a rail whose movements are given.
type listed struct {
	rail.Rail

	name rail.Name
	all  []rail.Movement
	err  error
}

func (l listed) Name() rail.Name { return l.name }

func (l listed) MovementKey(kind rail.MovementKind, reference string) string {
	return string(kind) + "/" + reference
}

func (l listed) Movements(_ context.Context, _ time.Time, yield func(rail.Movement) error) error {
	for _, m := range l.all {
		if err := yield(m); err != nil {
			return err
		}
	}
	return l.err
}

// TestEachStateOfACharge: what a charge in each state may and may not have moved.
func TestEachStateOfACharge(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		state state
		moved []ledger.Micros
		want  Cause
	}{
		{settled, []ledger.Micros{5}, ""},
		{settled, nil, ChargeWithoutMovement},
		{settled, []ledger.Micros{4}, WrongAmount},
		{settled, []ledger.Micros{5, 5}, MovedTwice},
		{settled, []ledger.Micros{2, 3}, MovedTwice},
		{settling, nil, ""},
		{settling, []ledger.Micros{5}, ""},
		{settling, []ledger.Micros{4}, WrongAmount},
		{settling, []ledger.Micros{5, 5}, MovedTwice},
		{open, nil, ""},
		{open, []ledger.Micros{4}, ""}, // a capture of a part
		{open, []ledger.Micros{5, 5}, MovedTwice},
		{elsewhere, nil, ""},
		{elsewhere, []ledger.Micros{5}, MovedTwice},
		{failed, nil, ""},
		{failed, []ledger.Micros{5}, TwoOutcomes},
	} {
		g := group{}
		g.add(line{Side: recorded, State: one.state, Amount: 5})
		for _, amount := range one.moved {
			g.add(line{Side: moved, Amount: amount})
		}
		got, detail := g.judged()
		require.Equal(t, one.want, got, "%s %v", one.state, one.moved)
		require.Equal(t, got != "", detail != "")
	}
}

// TestRailThatListsNothingIsNamed: and the others are compared.
func TestRailThatListsNothingIsNamed(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	var found []Difference
	r, err := Run(t.Context(), Config{Ledger: store, Clock: time.Now, Dir: t.TempDir(), Rails: []rail.Rail{
		listed{name: rail.Card, err: rail.ErrNotListed},
		listed{name: rail.Chain, all: []rail.Movement{{Key: "charge/a\x1fb\nc", Amount: 1, ID: "0x1"}, {Key: "charge/a\x1fb\nc", Amount: 2, ID: "0x2"}}},
	}}, func(d Difference) error {
		found = append(found, d)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []rail.Name{rail.Card}, r.Unlisted)
	require.Equal(t, []Difference{{
		Cause: MovementWithoutCharge, Rail: rail.Chain, Moved: 3, Movements: []string{"0x1", "0x2"},
		Detail: "the ledger does not have it; money moved 2 times",
	}}, found)
}
