package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/test/internal/waittest"
)

// run runs a drill that must find nothing. Without PostgreSQL it is skipped, or
// fails if that is required.
func run(t *testing.T, drill func(context.Context, options) (report, error), o options) {
	t.Helper()
	r, err := drill(t.Context(), o)
	if errors.Is(err, pgtest.ErrMissing) && !strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "postgres") {
		t.Skip(err)
	}
	t.Log(r)
	require.NoError(t, err)
	require.False(t, r.failed(), r.String())
}

func TestMain(m *testing.M) { waittest.Run(m) }

func TestBadReceiversLoseNothing(t *testing.T) {
	t.Parallel()
	run(t, deliver, options{Events: 300, Endpoints: 10, Seed: 7})
}

func TestBadReceiversLoseNothingOnPostgres(t *testing.T) {
	t.Parallel()
	run(t, deliver, options{Events: 150, Endpoints: 5, Seed: 8, Postgres: true})
}

func TestKilledWhileDeliveringLosesNothing(t *testing.T) {
	t.Parallel()
	run(t, kill, options{Kills: 4, Seed: 7})
}

// TestKilledAtEachStepLosesNothing: at each labelled step of a delivery.
func TestKilledAtEachStepLosesNothing(t *testing.T) {
	t.Parallel()
	run(t, kill, options{Kills: 1, Points: true, Seed: 7})
}

// TestInstancesShareTheWork: none sends what another one sends at the time, and
// what a dead one had on its way is sent by the others.
func TestInstancesShareTheWork(t *testing.T) {
	t.Parallel()
	run(t, kill, options{Kills: 2, Instances: 2, Seed: 7, Postgres: true})
}
