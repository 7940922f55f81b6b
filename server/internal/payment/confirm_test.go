package payment_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/status"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup is a service whose status lists have a few places only.
func setup(t *testing.T, places int64) (*payment.Service, ledger.Merchant) {
	t.Helper()
	const url = "https://pay.example"
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	time := &clock.Movable{}
	book, err := ledger.New(ledger.Config{Store: store, Clock: time})
	require.NoError(t, err)
	fiat := card.Sandbox(store)
	rails, err := rail.NewRouter([]rail.Rail{fiat})
	require.NoError(t, err)
	wrapper, err := vault.NewLocal(bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := mandate.NewPublicKey(&key.PublicKey)
	require.NoError(t, err)
	signer := mandate.FixedSigner(key)
	s := payment.New(payment.Config{
		Ledger: book, Accounts: store, Rails: rails, Vault: vault.New(wrapper), Clock: time, Logger: slog.New(slog.DiscardHandler),
		Issuer:   &mandate.Issuer{URL: url, Signer: signer},
		Verifier: &mandate.Verifier{Issuer: url, Keys: mandate.StaticKeys(public), Clock: time.Now, IgnoreTimes: true},
		Statuses: status.New(status.Config{Store: store, Signer: signer, BaseURL: url, Clock: time, Secret: []byte("s"), Size: places}),
		BaseURL:  url, ReceiptKey: []byte("r"),
	})
	t.Cleanup(func() {
		s.Close()
		book.Close()
		require.NoError(t, fiat.Close())
		require.NoError(t, store.Close())
	})
	m := ledger.Merchant{ID: "mer_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF", Name: "Acme", Active: true, CreatedAt: time.Now()}
	require.NoError(t, store.PutMerchant(t.Context(), m))
	return s, m
}

// confirm makes a session and a mandate of it.
func confirm(t *testing.T, s *payment.Service, m ledger.Merchant) (ledger.Mandate, error) {
	t.Helper()
	terms := ledger.Terms{
		MaxPerTx: 1_000_000, MaxMonthly: 1_000_000, Rails: []rail.Name{rail.Fiat}, Payees: []string{m.ID},
		ExpiresAt: s.Clock.Now().Add(24 * time.Hour).Truncate(time.Second),
	}
	session, err := s.CreateSession(t.Context(), payment.NewSession{Merchant: m, Terms: terms})
	require.NoError(t, err)
	return s.Confirm(t.Context(), session.Token, payment.Confirmation{Terms: terms, Methods: []string{"card_visa"}})
}

// TestNoTwoMandatesShareAPlace, also not with a revoked one, whose key is gone:
// its place tells its revocation for as long as the list lives.
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
	require.ErrorContains(t, err, "no free place", "the ninth of eight")
}
