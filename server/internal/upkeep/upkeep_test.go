package upkeep_test

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/upkeep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
	"github.com/paywarrant/paywarrant/server/rail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t *testing.T, damage bool) *upkeep.Upkeep {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pay.db")
	store, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	var c clock.Movable
	l, err := ledger.New(ledger.Config{Store: store, Clock: &c})
	require.NoError(t, err)
	now := c.Now().Truncate(time.Second)
	terms := ledger.Terms{MaxPerTx: 1e6, MaxMonthly: 1e6, Payees: []string{"mer_1"}, Rails: []rail.Name{rail.Fiat}, ExpiresAt: now.Add(time.Hour)}
	s := ledger.Session{Hash: "h", MerchantID: "mer_1", Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, l.CreateSession(t.Context(), s))
	_, err = l.CompleteSession(t.Context(), ledger.Completion{SessionHash: "h", MandateID: id.New(id.Mandate, now), Terms: terms, SealedToken: []byte{1}})
	require.NoError(t, err)
	if damage { // a counter that no charge explains
		raw, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = raw.ExecContext(t.Context(), "UPDATE mandates SET spent_micros = 1")
		require.NoError(t, err)
		require.NoError(t, raw.Close())
	}
	u := upkeep.New(upkeep.Config{Ledger: l, Clock: &c, Logger: slog.New(slog.DiscardHandler), CheckEvery: time.Millisecond, ExpireEvery: time.Millisecond})
	u.Start(t.Context())
	t.Cleanup(func() {
		u.Close()
		u.Close()
		l.Close()
		require.NoError(t, store.Close())
	})
	return u
}

func TestBrokenRuleIsNoticed(t *testing.T) {
	t.Parallel()
	u := setup(t, true)
	require.Eventually(t, func() bool { return u.Sound() != nil }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, u.Sound(), upkeep.ErrUnsound)
}

func TestSoundLedgerStaysSo(t *testing.T) {
	t.Parallel()
	u := setup(t, false)
	require.Never(t, func() bool { return u.Sound() != nil }, 200*time.Millisecond, 10*time.Millisecond)
}
