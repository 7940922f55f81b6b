package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// TestEndedBeforeItWasBound: an instrument that its payer ends on a rail before it was bound
// to its mandate, since the service died in between, ends that mandate and no other one of
// the session. The rail reports it again until the session is decided.
func TestEndedBeforeItWasBound(t *testing.T) {
	t.Parallel()
	s, merchant := setup(t, 100)
	terms := ledger.Terms{
		MaxPerTx: 1_000_000, MaxMonthly: 1_000_000, Rails: []rail.Name{rail.Card}, Payees: []string{merchant.ID},
		ExpiresAt: s.Clock().Add(24 * time.Hour).Truncate(time.Second),
	}
	session, err := s.CreateSession(t.Context(), payment.NewSession{Merchant: merchant, Terms: terms})
	require.NoError(t, err)
	require.ErrorIs(t, s.RevokedOnRail(t.Context(), rail.Ended{Method: "early", Session: session.Hash}), rail.ErrUndecided)
	declined, err := s.CreateSession(t.Context(), payment.NewSession{Merchant: merchant, Terms: terms})
	require.NoError(t, err)
	require.NoError(t, s.Decline(t.Context(), declined.Token))
	require.NoError(t, s.RevokedOnRail(t.Context(), rail.Ended{Method: "early", Session: declined.Hash}))
	require.NoError(t, s.RevokedOnRail(t.Context(), rail.Ended{Method: "strange", Session: "none"}))
	m, err := s.Confirm(t.Context(), session.Token, payment.Confirmation{Terms: terms, Methods: []string{"card_visa"}})
	require.NoError(t, err)
	status := func() ledger.MandateStatus {
		m, err := s.Ledger.Mandate(t.Context(), m.ID)
		require.NoError(t, err)
		return m.Status
	}
	require.NoError(t, s.RevokedOnRail(t.Context(), rail.Ended{Method: "of an earlier attempt", Session: session.Hash}))
	require.Equal(t, ledger.MandateActive, status())
	instruments, err := s.Instruments(t.Context(), m.ID, m.Card)
	require.NoError(t, err)
	require.NoError(t, s.RevokedOnRail(t.Context(), rail.Ended{Method: instruments[0].Method, Session: session.Hash}))
	require.Equal(t, ledger.MandateRevoked, status())
}
