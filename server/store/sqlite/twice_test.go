package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestCommitsOfAnotherConnectionAreSeen: an operator's command, or a second program by
// mistake, writes to the file beside the service. Neither decides on rows that the
// other has changed since.
func TestCommitsOfAnotherConnectionAreSeen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "pay.db")
	var both [2]*ledger.Ledger
	for i := range both {
		store, err := sqlite.Open(ctx, path)
		require.NoError(t, err)
		both[i], err = ledger.New(ledger.Config{Store: store, Clock: time.Now})
		require.NoError(t, err)
		t.Cleanup(func() {
			both[i].Close()
			require.NoError(t, store.Close())
		})
	}
	now := time.Now().Truncate(time.Second)
	shop := ledger.Merchant{ID: id.New(id.Merchant, now), Active: true}
	const limit = 20
	terms := ledger.Terms{MaxPerTx: 1, MaxMonthly: limit, Rails: []rail.Name{rail.Card}, Payees: []string{shop.ID}, ExpiresAt: now.Add(time.Hour)}
	session := ledger.Session{Hash: "h", MerchantID: shop.ID, Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, both[0].CreateSession(ctx, session))
	m, err := both[1].CompleteSession(ctx, ledger.Completion{SessionHash: "h", MandateID: id.New(id.Mandate, now), Terms: terms, SealedToken: []byte{1}})
	require.NoError(t, err)
	reserve := func(l *ledger.Ledger, n int) (ledger.Reservation, error) {
		return l.Reserve(ctx, ledger.Reserve{
			ChargeID: id.New(id.Charge, now), MandateID: m.ID, TokenValid: true, Payee: shop, Amount: 1, Currency: "usd", Description: "d",
			Rails: terms.Rails, IdempotencyKey: fmt.Sprint(n), Fingerprint: "f", Lease: time.Minute,
		})
	}
	for n := range limit {
		r, err := reserve(both[n%2], n)
		require.NoError(t, err, n)
		_, err = both[n/2%2].Settle(ctx, r.Charge, ledger.Settlement{Rail: rail.Card, Outcome: rail.Outcome{Status: rail.Succeeded, ProcessorID: "p"}})
		require.NoError(t, err, n)
	}
	var refusal *ledger.Refusal
	for i, l := range both {
		_, err := reserve(l, limit+i)
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, ledger.MonthlyLimit, refusal.Code)
	}
	stored, err := both[0].Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, int64(limit), stored.Windows[0].Used)
	_, err = both[0].Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	_, err = reserve(both[1], 2*limit)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, ledger.MandateIsRevoked, refusal.Code)
}
