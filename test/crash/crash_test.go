package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgtest"
)

func TestNothingIsLostDoubledOrUndecided(t *testing.T) {
	kills := 25
	if testing.Short() {
		kills = 5
	}
	for name, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			r, err := run(t.Context(), options{Kills: kills, Callers: 8, Seed: 7, Postgres: postgres})
			if errors.Is(err, pgtest.ErrMissing) && !strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "postgres") {
				t.Skip("needs PostgreSQL, which is not installed")
			}
			t.Log(r)
			require.NoError(t, err)
			require.False(t, r.failed(), r.String())
			require.NotZero(t, r.Refused, "the tight limit was never reached")
		})
	}
}
