package payment_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

var errAway = errors.New("rail is away")

// unwound waits until nothing is left to unwind and all instruments are in a state.
func (b *bench) unwound(t *testing.T, list func() []ledger.Instrument, want ...ledger.InstrumentState) {
	t.Helper()
	require.Eventually(t, func() bool {
		b.time.Advance(time.Minute) // past any pause
		var states []ledger.InstrumentState
		for _, i := range list() {
			states = append(states, i.State)
		}
		backlog, err := b.Ledger.UnwindingBacklog(t.Context())
		require.NoError(t, err)
		return backlog.Count == 0 && len(states) == len(want) && equal(states, want)
	}, time.Minute, 500*time.Millisecond)
}

func equal(a, b []ledger.InstrumentState) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (b *bench) ofMandate(t *testing.T, mandateID string) func() []ledger.Instrument {
	t.Helper()
	return func() []ledger.Instrument {
		list, err := b.Ledger.InstrumentsOfMandate(t.Context(), mandateID)
		require.NoError(t, err)
		return list
	}
}

func (b *bench) ofSession(t *testing.T, token string) func() []ledger.Instrument {
	t.Helper()
	return func() []ledger.Instrument {
		list, err := b.Ledger.InstrumentsOfSession(t.Context(), id.Hash(token))
		require.NoError(t, err)
		return list
	}
}

// TestRevocationIsFinishedHoweverOftenARailFails: the caller sees success once
// the ledger has revoked; rail, key and status follow.
func TestRevocationIsFinishedHoweverOftenARailFails(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, _ := b.confirmed(t)
	b.chain.failing(nil, errAway)
	revoked, err := b.Revoke(t.Context(), b.merchant.ID, m.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.MandateRevoked, revoked.Status)
	require.NoError(t, b.Start(t.Context()))
	require.Eventually(t, func() bool { // the card is ended, the chain not yet
		return len(b.card.ended()) > 0
	}, time.Minute, 10*time.Millisecond)
	backlog, err := b.Ledger.UnwindingBacklog(t.Context())
	require.NoError(t, err)
	require.Positive(t, backlog.Count)
	require.False(t, backlog.Oldest.IsZero())
	b.chain.failing(nil, nil)
	b.unwound(t, b.ofMandate(t, m.ID), ledger.Disconnected, ledger.Disconnected)
	require.Len(t, b.chain.ended(), 1)
	keys, err := b.store.SealedKeys(t.Context(), "session-key/p256/")
	require.NoError(t, err)
	require.Empty(t, keys)
}

// TestRevocationOfADeadProcessIsFinished: the process ended right after the ledger had
// recorded the revocation.
func TestRevocationOfADeadProcessIsFinished(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, _ := b.confirmed(t)
	_, err := b.Ledger.Revoke(t.Context(), m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	require.NoError(t, b.Start(t.Context()))
	b.unwound(t, b.ofMandate(t, m.ID), ledger.Disconnected, ledger.Disconnected)
	require.Len(t, b.chain.ended(), 1)
	require.Len(t, b.card.ended(), 1)
	keys, err := b.store.SealedKeys(t.Context(), "session-key/p256/")
	require.NoError(t, err)
	require.Empty(t, keys, "its session key is destroyed")
}

// TestInstrumentsThatLeadToNoMandateAreEnded, in each way in which a session can leave one.
func TestInstrumentsThatLeadToNoMandateAreEnded(t *testing.T) {
	t.Parallel()
	methods := []string{string(rail.Card), string(rail.Chain)}
	for name, c := range map[string]struct {
		chain  error // connecting on the chain, the second method
		after  func(t *testing.T, b *bench, token string)
		cards  int // ended on the card's rail
		chains int
	}{
		"the second method is refused": {chain: &rail.RefusedError{Reason: rail.InsufficientFunds}, cards: 1},
		"the second method is unknown for a while, and the person declines": {
			chain: errAway, cards: 1, chains: 1,
			after: func(t *testing.T, b *bench, token string) {
				t.Helper()
				b.chain.failing(nil, nil)
				require.NoError(t, b.Decline(t.Context(), token))
			},
		},
		"the process ends, and the session expires": {
			chain: errAway, cards: 1, chains: 1,
			after: func(_ *testing.T, b *bench, _ string) {
				b.chain.failing(nil, nil)
				b.time.Advance(payment.SessionLifetime + time.Minute)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := both(t)
			session, err := b.CreateSession(t.Context(), payment.NewSession{Merchant: b.merchant, Terms: b.terms()})
			require.NoError(t, err)
			b.chain.failing(c.chain, nil)
			_, err = b.Confirm(t.Context(), session.Token, payment.Confirmation{Terms: b.terms(), Methods: methods})
			require.Error(t, err)
			if c.after != nil {
				c.after(t, b, session.Token)
			}
			require.NoError(t, b.Start(t.Context()))
			require.Eventually(t, func() bool {
				b.time.Advance(time.Minute)
				return len(b.card.ended()) == c.cards && len(b.chain.ended()) == c.chains
			}, time.Minute, 500*time.Millisecond)
			for _, i := range b.ofSession(t, session.Token)() {
				require.Empty(t, i.MandateID)
			}
		})
	}
}

// TestInstrumentsOfAMandateAreNotEnded: the worker looks at a completed session, and
// leaves what became its mandate's.
func TestInstrumentsOfAMandateAreNotEnded(t *testing.T) {
	t.Parallel()
	b := both(t)
	session, err := b.CreateSession(t.Context(), payment.NewSession{Merchant: b.merchant, Terms: b.terms()})
	require.NoError(t, err)
	confirm := payment.Confirmation{Terms: b.terms(), Methods: []string{string(rail.Card), string(rail.Chain)}}
	b.chain.failing(errAway, nil)
	_, err = b.Confirm(t.Context(), session.Token, confirm)
	require.ErrorIs(t, err, errAway)
	b.chain.failing(nil, nil)
	m, err := b.Confirm(t.Context(), session.Token, confirm)
	require.NoError(t, err, "the form is sent again")
	require.NoError(t, b.Start(t.Context()))
	b.unwound(t, b.ofMandate(t, m.ID), ledger.Connected, ledger.Connected)
	require.Empty(t, b.card.ended())
	require.Empty(t, b.chain.ended())
}
