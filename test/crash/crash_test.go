package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/test/internal/waittest"
)

func TestMain(m *testing.M) { waittest.Run(m) }

// storePoints are the steps at which it matters most what PostgreSQL has committed. The
// other steps are the drill's: go -C test run ./crash -points -postgres.
var storePoints = []failpoint.Point{
	failpoint.StoreDecided, failpoint.StoreCommitted, failpoint.Reserved, failpoint.RailAnswered, failpoint.CaptureBegun,
	failpoint.RefundBegun, failpoint.TabOpened, failpoint.TabClosing, failpoint.DrawsSettled, failpoint.UnwindingTaken,
}

func TestNothingIsLostDoubledOrUndecided(t *testing.T) {
	t.Parallel()
	kills := 10
	if testing.Short() {
		kills = 5
	}
	for name, o := range map[string]options{
		"at random, SQLite":     {Kills: kills},
		"at random, PostgreSQL": {Kills: kills, Postgres: true},
		"at each step, SQLite":  {Kills: 1, Points: true},
		"at steps, PostgreSQL":  {Kills: 1, Points: true, Postgres: true, Only: storePoints},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Callers, o.Seed, o.Answers, o.History = 8, 7, 60, 100
			r, err := run(t.Context(), o)
			skipWithoutPostgres(t, err)
			t.Log(r)
			require.NoError(t, err)
			require.False(t, r.failed(), r.String())
			require.True(t, o.Points || r.Refused > 0, "the tight limit was never reached")
			require.Positive(t, r.Voided)
			require.Positive(t, r.Refunds)
		})
	}
}

func skipWithoutPostgres(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, pgtest.ErrMissing) && !strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "postgres") {
		t.Skip("needs PostgreSQL, which is not installed")
	}
}
