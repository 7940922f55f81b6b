package ledger_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

func TestUsedPercentIsRoundedDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, limit int64
		want        int
	}{{0, 0, 0}, {0, 3, 0}, {1, 3, 33}, {499_999, 1_000_000, 49}, {500_000, 1_000_000, 50}, {999, 1000, 99}, {7, 7, 100}, {math.MaxInt64, math.MaxInt64, 100}} {
		require.Equal(t, c.want, ledger.Window{Used: c.used, Cap: c.limit}.UsedPercent(), "%d of %d", c.used, c.limit)
	}
}
