package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	s, err := srv.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	done, err := srv.Client().CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, translate(t.Context(), srv.Client(), done.Mandate, &out))
	require.Equal(t, "completed 90 of 400\n", out.String())
}
