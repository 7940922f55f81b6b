package gasbudget_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/gasbudget"
)

// TestManyPartiesDoNotResetTheRelayersBudget checks that a caller who invents more
// payers than are remembered cannot spend the relayer's budget of the hour twice.
func TestManyPartiesDoNotResetTheRelayersBudget(t *testing.T) {
	t.Parallel()
	const enough = gasbudget.MaxParties/2 + 10 // two parties of each settlement
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	limits := func(r gasbudget.Role) gasbudget.Cost {
		if r == gasbudget.Relayer {
			return gasbudget.Cost{Gas: enough, Gwei: enough}
		}
		return gasbudget.Cost{Gas: 1, Gwei: 1}
	}
	var b gasbudget.Budget
	take := func(at time.Time, n int) bool {
		_, ok := b.Take(at, "task", gasbudget.Expense{Cost: gasbudget.Cost{Gas: 1, Gwei: 1}, Parties: []gasbudget.Party{
			{Role: gasbudget.Payer, Name: strconv.Itoa(n)}, {Role: gasbudget.Payee, Name: strconv.Itoa(n)}, {Role: gasbudget.Relayer},
		}}, limits)
		return ok
	}
	taken := 0
	for n := range enough + 10 {
		if take(now, n) {
			taken++
		}
	}
	require.Equal(t, enough, taken)
	require.True(t, take(now.Add(time.Hour), 0))
}
