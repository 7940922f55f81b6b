package payment_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// prepared confirms a session, and returns the ids for which Prepare was called.
func prepared(ctx context.Context, s *payment.Service, session payment.Session) (ids []string, m ledger.Mandate, err error) {
	m, err = s.Confirm(ctx, session.Token, payment.Confirmation{
		Terms: session.Terms, Methods: []string{"card_visa"},
		Prepare: func(_ context.Context, mandateID string, _ []rail.Instrument) error {
			ids = append(ids, mandateID)
			return nil
		},
	})
	return ids, m, err
}

// cardSession is a session of a dollar by card.
func cardSession(t *testing.T, s *payment.Service, merchant ledger.Merchant) payment.Session {
	t.Helper()
	session, err := s.CreateSession(t.Context(), payment.NewSession{Merchant: merchant, Terms: ledger.Terms{
		MaxPerTx: 1_000_000, MaxMonthly: 1_000_000, Rails: []rail.Name{rail.Card}, Payees: []string{merchant.ID},
		ExpiresAt: s.Clock().Add(24 * time.Hour).Truncate(time.Second),
	}})
	require.NoError(t, err)
	return session
}

// TestNothingIsPreparedUnderTheIDOfAnother: Prepare stores who owns a mandate. Random ids
// meet those of active and of revoked mandates.
func TestNothingIsPreparedUnderTheIDOfAnother(t *testing.T) {
	t.Parallel()
	s, merchant := setup(t, 8)
	others := map[string]bool{}
	for n := range 7 {
		ids, m, err := prepared(t.Context(), s, cardSession(t, s, merchant))
		require.NoError(t, err)
		require.Equal(t, []string{m.ID}, ids)
		require.False(t, others[m.ID])
		others[m.ID] = true
		if n%2 == 0 {
			_, err = s.Revoke(t.Context(), merchant.ID, m.ID)
			require.NoError(t, err)
		}
	}
}

// TestAFailedConfirmationClaimsItsIDForGood: a session that is confirmed many times at once
// makes one mandate, and the ids that the others prepared become no later person's.
func TestAFailedConfirmationClaimsItsIDForGood(t *testing.T) {
	t.Parallel()
	s, merchant := setup(t, 64)
	session := cardSession(t, s, merchant)
	var (
		lock  sync.Mutex
		first = map[string]bool{}
		all   sync.WaitGroup
	)
	for range 20 {
		all.Go(func() {
			ids, _, _ := prepared(t.Context(), s, session)
			lock.Lock()
			defer lock.Unlock()
			for _, i := range ids {
				first[i] = true
			}
		})
	}
	all.Wait()
	require.NotEmpty(t, first)
	for range 20 {
		ids, m, err := prepared(t.Context(), s, cardSession(t, s, merchant))
		require.NoError(t, err)
		require.Equal(t, []string{m.ID}, ids)
		require.False(t, first[m.ID], "the id was prepared for the first person")
	}
}

// lossy loses the answer to a commit that inserts a mandate.
type lossy struct {
	ledger.Store

	lose atomic.Bool
}

func (l *lossy) Update(ctx context.Context, k ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	inserts := false
	err := l.Store.Update(ctx, k, func(s *ledger.State) (ledger.Effects, error) {
		e, err := decide(s)
		inserts = len(e.Insert.Mandates) > 0
		return e, err
	})
	if err == nil && inserts && l.lose.Load() {
		return ledger.ErrUnavailable
	}
	return err
}

// TestAMandateWhoseCommitWasLostKeepsItsKey: the session is completed although the service
// was answered that the store cannot be reached.
func TestAMandateWhoseCommitWasLostKeepsItsKey(t *testing.T) {
	t.Parallel()
	b := on(t, 1024, func(store *sqlite.Store) []rail.Rail { return []rail.Rail{card.Sandbox(store)} })
	l := &lossy{Store: b.store}
	book, err := ledger.New(ledger.Config{Store: l, Clock: b.time.Now})
	require.NoError(t, err)
	t.Cleanup(book.Close)
	b.Ledger = book
	b.merchant.PayTo = "0x52908400098527886E0F7030069857D2E4169EE7"
	require.NoError(t, b.store.PutMerchant(t.Context(), b.merchant))
	session := cardSession(t, b.Service, b.merchant)
	l.lose.Store(true)
	_, _, err = prepared(t.Context(), b.Service, session)
	require.ErrorIs(t, err, ledger.ErrUnavailable)
	l.lose.Store(false)
	done, err := b.Session(t.Context(), session.Token)
	require.NoError(t, err)
	require.Equal(t, ledger.SessionCompleted, done.Status)
	_, err = b.Present(t.Context(), payment.PresentationRequest{
		Merchant: b.merchant, IDOrToken: done.Mandate, Audience: "https://a.example", Nonce: "n", Amount: 1000,
		PayTo: b.merchant.PayTo, Network: "card", Resource: "https://a.example/x", Life: time.Minute,
	})
	require.NoError(t, err)
}

// TestTabsThatCannotBeReadAreNotMissing: an outage is no 404.
func TestTabsThatCannotBeReadAreNotMissing(t *testing.T) {
	t.Parallel()
	s, merchant := setup(t, 8)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Tabs(ctx, merchant.ID, "tab_1", 10)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ledger.ErrNotFound)
	_, err = s.Tabs(t.Context(), merchant.ID, "tab_1", 10)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}
