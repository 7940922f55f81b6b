package upkeep_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/upkeep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buffer is a log that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.b.String(), text)
}

// distant is a store whose database has another time.
type distant struct {
	ledger.Store

	behind time.Duration
}

func (d distant) Now(context.Context) (time.Time, error) { return time.Now().Add(-d.behind), nil }

type bench struct {
	store ledger.Store
	path  string
	log   *buffer
	clock *clock.Movable
	l     *ledger.Ledger
}

// setup is a ledger with one mandate, made a while ago.
func setup(t *testing.T, age time.Duration) *bench {
	t.Helper()
	b := &bench{path: filepath.Join(t.TempDir(), "pay.db"), log: &buffer{}, clock: &clock.Movable{}}
	var err error
	b.store, err = sqlite.Open(t.Context(), b.path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.store.Close()) })
	b.clock.Advance(-age)
	b.l, err = ledger.New(ledger.Config{Store: b.store, Clock: b.clock.Now})
	require.NoError(t, err)
	t.Cleanup(b.l.Close)
	now := b.clock.Now().Truncate(time.Second)
	terms := ledger.Terms{MaxPerTx: 1e6, MaxMonthly: 1e6, Payees: []string{"mer_1"}, Rails: []rail.Name{rail.Card}, ExpiresAt: now.Add(time.Hour)}
	s := ledger.Session{Hash: "h", MerchantID: "mer_1", Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, b.l.CreateSession(t.Context(), s))
	_, err = b.l.CompleteSession(t.Context(), ledger.Completion{SessionHash: "h", MandateID: id.New(id.Mandate, now), Terms: terms, SealedToken: []byte{1}})
	require.NoError(t, err)
	b.clock.Advance(age)
	return b
}

// start runs upkeep of a store as often as it can.
func (b *bench) start(t *testing.T, store ledger.Store, movable bool) {
	t.Helper()
	u := upkeep.New(upkeep.Config{
		Ledger: b.l, Store: store, Clock: b.clock.Now, Logger: slog.New(slog.NewTextHandler(b.log, nil)), Movable: movable,
		CheckEvery: time.Millisecond, ExpireEvery: time.Millisecond,
	})
	u.Start(t.Context())
	t.Cleanup(func() {
		u.Close()
		u.Close()
	})
}

func (b *bench) events(t *testing.T) int {
	t.Helper()
	events, err := b.store.StreamEvents(t.Context(), "mer_1", 0, 10)
	require.NoError(t, err)
	return len(events)
}

const notSound, clockIsOff = "the ledger is not sound", "too far from the database's"

// TestBrokenRuleIsLoggedUntilItIsMended: a counter that no charge explains is found, in
// each round.
func TestBrokenRuleIsLoggedUntilItIsMended(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	raw, err := sql.Open("sqlite", b.path+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	defer func() { require.NoError(t, raw.Close()) }()
	_, err = raw.ExecContext(t.Context(), "UPDATE windows SET used = 1")
	require.NoError(t, err)
	b.start(t, b.store, true) // not before: a mandate that was checked is read again at its next event
	require.Eventually(t, func() bool { return b.log.count(notSound) > 2 }, time.Minute, time.Millisecond)
	_, err = raw.ExecContext(t.Context(), "UPDATE windows SET used = 0")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		faulty, err := b.store.FaultyMandates(t.Context(), 10)
		require.NoError(t, err)
		return len(faulty) == 0
	}, time.Minute, time.Millisecond)
}

func TestSoundLedgerIsNotReported(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	b.start(t, b.store, true)
	require.Never(t, func() bool { return b.log.count("ERROR") > 0 }, 200*time.Millisecond, 10*time.Millisecond)
}

// TestOneFastClockDeletesNothing: a machine whose clock runs a month ahead does not
// delete what the database's clock says is still kept.
func TestOneFastClockDeletesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, time.Hour)
	b.clock.Advance(ledger.Keep + time.Hour)
	b.start(t, b.store, false)
	require.Eventually(t, func() bool { return b.log.count(clockIsOff) > 50 }, time.Minute, time.Millisecond, "as many rounds as of retention")
	require.Equal(t, 1, b.events(t))
}

// TestRetentionOfASandboxGoesByItsClock: tests move it.
func TestRetentionOfASandboxGoesByItsClock(t *testing.T) {
	t.Parallel()
	b := setup(t, time.Hour)
	b.clock.Advance(ledger.Keep + time.Hour)
	b.start(t, b.store, true)
	require.Eventually(t, func() bool { return b.events(t) == 0 }, time.Minute, time.Millisecond)
	require.Zero(t, b.log.count(clockIsOff))
}

func TestClockFarFromTheDatabasesIsAnError(t *testing.T) {
	t.Parallel()
	for behind, off := range map[time.Duration]bool{
		0: false, time.Second: false, -time.Second: false, 3 * time.Second: true, -3 * time.Second: true, 24 * time.Hour: true,
	} {
		ahead, err := upkeep.CheckClock(t.Context(), distant{behind: behind}, time.Now)
		require.InDelta(t, behind.Seconds(), ahead.Seconds(), 0.5)
		if off {
			require.ErrorIs(t, err, upkeep.ErrClock)
		} else {
			require.NoError(t, err)
		}
	}
	b := setup(t, 0)
	b.start(t, distant{b.store, time.Hour}, true)
	require.Eventually(t, func() bool { return b.log.count(clockIsOff) > 0 }, time.Minute, time.Millisecond)
}
