package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestDrawIsNoExpiredHoldForOlderPrograms: a program from before tabs, which knows no draws,
// voids the authorizations whose end has passed. A draw has none, here and outside.
func TestDrawIsNoExpiredHoldForOlderPrograms(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now().Truncate(time.Second)
	path := filepath.Join(t.TempDir(), "pay.db")
	store, err := sqlite.Open(ctx, path)
	require.NoError(t, err)
	l, err := ledger.New(ledger.Config{Store: store, Clock: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() {
		l.Close()
		require.NoError(t, store.Close())
	})
	shop := ledger.Merchant{ID: id.New(id.Merchant, now), Active: true}
	terms := ledger.Terms{MaxPerTx: 100_000, MaxMonthly: 1_000_000, Rails: []rail.Name{rail.Card}, Payees: []string{shop.ID}, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, l.CreateSession(ctx, ledger.Session{
		Hash: "h", MerchantID: shop.ID, Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}))
	m, err := l.CompleteSession(ctx, ledger.Completion{SessionHash: "h", MandateID: id.New(id.Mandate, now), Terms: terms, SealedToken: []byte{1}})
	require.NoError(t, err)
	r := ledger.Reserve{
		ChargeID: id.New(id.Charge, now), MandateID: m.ID, TokenValid: true, Payee: shop, Amount: 10_000, Currency: "usd", Description: "d",
		IdempotencyKey: "1", Fingerprint: "f", Lease: time.Minute, Draw: &ledger.Draw{TabID: id.New(id.Tab, now), Block: 500_000, MaxAdvance: 500_000},
	}
	asked, err := l.Reserve(ctx, r)
	require.NoError(t, err)
	_, err = l.OpenTab(ctx, asked.Tab, rail.Outcome{Status: rail.Held, ProcessorID: "p"})
	require.NoError(t, err)
	_, err = l.Reserve(ctx, r)
	require.NoError(t, err)
	draw, err := l.Charge(ctx, r.ChargeID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeAuthorized, draw.Status)
	require.Zero(t, draw.AuthorizedUntil)

	pool, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	var found int
	require.NoError(t, pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM charges WHERE status = 'authorized' AND authorized_until_ms <= $1",
		now.AddDate(1000, 0, 0).UnixMilli()).Scan(&found))
	require.Zero(t, found)

	tab, err := l.Tab(ctx, asked.Tab.ID)
	require.NoError(t, err)
	tab, err = l.CloseTab(ctx, tab, ledger.TabRequested)
	require.NoError(t, err)
	require.EqualValues(t, 10_000, tab.Counted)
	_, err = pool.ExecContext(ctx, "UPDATE tabs SET state = 'settling', outcome = 'voided' WHERE id = $1", tab.ID)
	require.ErrorContains(t, err, "CHECK", "such a program would add the debt a second time")
}
