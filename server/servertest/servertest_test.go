package servertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMandateIsChargedWithinItsLimits(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); chargesWithinLimits(t, nil) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		chargesWithinLimits(t, &servertest.Options{Store: postgres.Open})
	})
}

func chargesWithinLimits(t *testing.T, o *servertest.Options) {
	ctx := t.Context()
	srv := servertest.Start(t, o)
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000})
	charge := func(cents int64) (client.Charge, error) {
		return srv.Client().Charge(ctx, client.ChargeParams{
			Mandate: m, AmountCents: cents, Currency: client.USD, Description: "test",
		})
	}
	for range 2 {
		ch, err := charge(500)
		require.NoError(t, err)
		require.Equal(t, client.Completed, ch.Status)
		require.Equal(t, client.CardUsed, ch.RailUsed)
	}
	_, err := charge(501)
	require.ErrorIs(t, err, client.ErrPerTxLimit)
	_, err = charge(1)
	require.ErrorIs(t, err, client.ErrMonthlyLimit)
	srv.Clock.Advance(31 * 24 * time.Hour)
	_, err = charge(1)
	require.NoError(t, err)
}
