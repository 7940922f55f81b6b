package payment_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/status"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a service on a fresh store.
type bench struct {
	*payment.Service

	merchant    ledger.Merchant
	time        *clock.Movable
	store       *sqlite.Store
	keys        *revocable
	card, chain *puppet // of both
}

// revocable is a key set whose keys can be revoked.
type revocable struct {
	mandate.KeySource

	revoked atomic.Bool
}

// Key implements mandate.KeySource.
func (r *revocable) Key(ctx context.Context, id string) (mandate.PublicKey, error) {
	if r.revoked.Load() {
		return mandate.PublicKey{}, mandate.ErrKeyUnknown
	}
	return r.KeySource.Key(ctx, id)
}

// setup is a service whose status lists have a few places only.
func setup(t *testing.T, places int64) (*payment.Service, ledger.Merchant) {
	t.Helper()
	b := on(t, places, func(store *sqlite.Store) []rail.Rail { return []rail.Rail{card.Sandbox(store)} })
	return b.Service, b.merchant
}

// both is a service with two scripted rails.
func both(t *testing.T) *bench {
	t.Helper()
	fiat, chain := newPuppet(rail.Card), newPuppet(rail.Chain)
	b := on(t, 1024, func(*sqlite.Store) []rail.Rail { return []rail.Rail{fiat, chain} })
	b.card, b.chain = fiat, chain
	return b
}

func on(t *testing.T, places int64, rails func(*sqlite.Store) []rail.Rail) *bench {
	t.Helper()
	const url = "https://pay.example"
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	b := &bench{time: &clock.Movable{}, store: store}
	book, err := ledger.New(ledger.Config{Store: store, Clock: b.time.Now})
	require.NoError(t, err)
	have := rails(store)
	router, err := rail.NewRouter(have)
	require.NoError(t, err)
	wrapper, err := vault.NewLocal(bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := mandate.NewPublicKey(&key.PublicKey)
	require.NoError(t, err)
	signer := mandate.FixedSigner(key)
	b.keys = &revocable{KeySource: mandate.StaticKeys(public)}
	b.Service = payment.New(payment.Config{
		Ledger: book, Accounts: store, Rails: router, Vault: vault.New(wrapper), Clock: b.time.Now, Logger: slog.New(slog.DiscardHandler),
		Issuer:   &mandate.Issuer{URL: url, Signer: signer},
		Verifier: &mandate.Verifier{Issuer: url, Keys: b.keys, Clock: b.time.Now, IgnoreTimes: true},
		Statuses: status.New(status.Config{Store: store, Signer: signer, BaseURL: url, Clock: b.time.Now, Secret: []byte("s"), Size: places}),
		BaseURL:  url, ReceiptKey: []byte("r"),
	})
	t.Cleanup(func() {
		b.Close()
		book.Close()
		for _, r := range have {
			if c, ok := r.(io.Closer); ok {
				require.NoError(t, c.Close())
			}
		}
		require.NoError(t, store.Close())
	})
	b.merchant = ledger.Merchant{ID: "mer_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF", Name: "Acme", Active: true, CreatedAt: b.time.Now()}
	require.NoError(t, store.PutMerchant(t.Context(), b.merchant))
	return b
}

// terms allow a dollar, on both rails.
func (b *bench) terms() ledger.Terms {
	return ledger.Terms{
		MaxPerTx: 1_000_000, MaxMonthly: 1_000_000, Rails: []rail.Name{rail.Card, rail.Chain}, Payees: []string{b.merchant.ID},
		ExpiresAt: b.merchant.CreatedAt.Add(30 * 24 * time.Hour).Truncate(time.Second), // the same at each call
	}
}

// confirmed is a mandate of both rails, and its token.
func (b *bench) confirmed(t *testing.T) (ledger.Mandate, string) {
	t.Helper()
	session, err := b.CreateSession(t.Context(), payment.NewSession{Merchant: b.merchant, Terms: b.terms()})
	require.NoError(t, err)
	m, err := b.Confirm(t.Context(), session.Token, payment.Confirmation{Terms: b.terms(), Methods: []string{string(rail.Card), string(rail.Chain)}})
	require.NoError(t, err)
	done, err := b.Session(t.Context(), session.Token)
	require.NoError(t, err)
	return m, done.Mandate
}

// confirm makes a session and a mandate of it.
func confirm(t *testing.T, s *payment.Service, m ledger.Merchant) (ledger.Mandate, error) {
	t.Helper()
	terms := ledger.Terms{
		MaxPerTx: 1_000_000, MaxMonthly: 1_000_000, Rails: []rail.Name{rail.Card}, Payees: []string{m.ID},
		ExpiresAt: s.Clock().Add(24 * time.Hour).Truncate(time.Second),
	}
	session, err := s.CreateSession(t.Context(), payment.NewSession{Merchant: m, Terms: terms})
	require.NoError(t, err)
	return s.Confirm(t.Context(), session.Token, payment.Confirmation{Terms: terms, Methods: []string{"card_visa"}})
}

// TestNoTwoMandatesShareAPlace: the index of a revoked mandate, whose key is gone, stays in
// use as well, since it reports the revocation for as long as the list exists.
func TestNoTwoMandatesShareAPlace(t *testing.T) {
	t.Parallel()
	s, merchant := setup(t, 8)
	taken := map[int64]bool{}
	for range 5 {
		m, err := confirm(t, s, merchant)
		require.NoError(t, err)
		taken[s.Statuses.Ref(m.ID).Index] = true
		_, err = s.Revoke(t.Context(), merchant.ID, m.ID)
		require.NoError(t, err)
	}
	require.Len(t, taken, 5)
	var err error
	for n := 0; n <= 3 && err == nil; n++ {
		var m ledger.Mandate
		if m, err = confirm(t, s, merchant); err == nil {
			require.False(t, taken[s.Statuses.Ref(m.ID).Index])
			taken[s.Statuses.Ref(m.ID).Index] = true
		}
	}
	require.ErrorContains(t, err, "no free index", "the ninth of eight")
}
