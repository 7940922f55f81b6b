package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// The service dies at each step of a purchase from a seller that does not know it, and of a
// sweep: each seller is paid once or not at all, and the rest is back to the cent.
func TestKilledWhileItPaysSellers(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{"SQLite": {}, "PostgreSQL": {Postgres: true, Only: []failpoint.Point{failpoint.PurchaseSigned, failpoint.SweepPosted}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Points, o.Kills, o.Callers, o.Seed = true, 1, 3, 7
			r, err := runSellers(t.Context(), o)
			skipWithoutPostgres(t, err)
			t.Log(r)
			require.NoError(t, err)
			require.False(t, r.failed(), r.String())
		})
	}
}
