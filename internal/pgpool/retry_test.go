package pgpool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgpool"
)

func TestRetryEndsWithTheTransactionItsTimeOrItsCaller(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		require.NoError(t, pgpool.Retry(t.Context(), func() (bool, error) {
			if runs++; runs < 4 {
				return true, failed
			}
			return true, nil
		}))
		require.Equal(t, 4, runs)

		runs = 0
		require.ErrorIs(t, pgpool.Retry(t.Context(), func() (bool, error) { runs++; return false, failed }), failed)
		require.Equal(t, 1, runs, "it must not be run again")

		began := time.Now()
		require.ErrorIs(t, pgpool.Retry(t.Context(), func() (bool, error) { return true, failed }), failed)
		require.InDelta(t, 2.2, time.Since(began).Seconds(), 0.4)

		ctx, cancel := context.WithCancel(t.Context())
		runs = 0
		require.ErrorIs(t, pgpool.Retry(ctx, func() (bool, error) { runs++; cancel(); return true, failed }), failed)
		require.Equal(t, 1, runs, "nobody waits")
	})
}
