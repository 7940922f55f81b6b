package ledger_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

func TestFeeIsRoundedUp(t *testing.T) {
	t.Parallel()
	for amount, fee := range map[ledger.Micros]ledger.Micros{
		1: 5000, 166_666: 5000, 166_667: 5001, 333_333: 10_000, 333_334: 10_001, 500_000: 15_000, 999_999: 30_000, 1_000_000: 30_000, 1_000_001: 30_000, 1_999_999: 30_000, 5_000_000: 30_000,
	} {
		require.Equal(t, fee, ledger.Fee(rail.Chain, amount), amount)
		require.Zero(t, ledger.Fee(rail.Card, amount))
	}
}

func TestMonthsAreInUTC(t *testing.T) {
	t.Parallel()
	east, west := time.FixedZone("east", 14*3600), time.FixedZone("west", -12*3600)
	require.Equal(t, ledger.Month(202611), ledger.MonthOf(time.Date(2026, 12, 1, 5, 0, 0, 0, east)))
	require.Equal(t, ledger.Month(202612), ledger.MonthOf(time.Date(2026, 11, 30, 20, 0, 0, 0, west)))
}

// spentOf100 is a month in which so much of 100 micros is spent.
func spentOf100(spent int64) []ledger.Window {
	today := ledger.DayOf(time.Now())
	return []ledger.Window{{Kind: ledger.MonthlyLimit, Cap: 100, Used: spent, Start: today - today%100}}
}

// holding is a store of one mandate that has spent more than it may, or would.
type holding struct {
	ledger.Store

	mandate ledger.Mandate
	charge  ledger.Charge

	mu    sync.Mutex
	saved []ledger.Effects
}

func (h *holding) Writers() int { return 1 }

func (h *holding) Update(_ context.Context, _ ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	e, err := decide(&ledger.State{
		Mandates: map[string]ledger.Mandate{h.mandate.ID: h.mandate}, Charges: map[string]ledger.Charge{h.charge.ID: h.charge},
		Tallies: map[ledger.TallyKey]ledger.Tally{}, Idempotency: map[ledger.IdempotencyKey]ledger.Idempotency{},
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.saved = append(h.saved, e)
	}
	return err
}

// TestCounterAboveItsLimitIsNotWritten: whatever a decision says, every write is checked.
func TestCounterAboveItsLimitIsNotWritten(t *testing.T) {
	t.Parallel()
	for spent, sound := range map[int64]bool{100: true, 101: false} {
		h := &holding{
			mandate: ledger.Mandate{ID: "del_1", Windows: spentOf100(spent)},
			charge:  ledger.Charge{ID: "txn_1", MandateID: "del_1", MerchantID: "mer_1", Amount: 1, Day: ledger.DayOf(time.Now()), Status: ledger.ChargePending},
		}
		l := start(t, h, 0)
		_, err := l.Settle(t.Context(), h.charge, ledger.Settlement{Rail: rail.Card, Outcome: rail.Outcome{Status: rail.Succeeded}})
		l.Close()
		if sound {
			require.NoError(t, err)
			require.Len(t, h.saved, 1)
		} else {
			require.ErrorIs(t, err, ledger.ErrInvariant)
			require.Empty(t, h.saved)
		}
	}
}

// TestWhatBreaksAnInvariantIsNotWritten: a counter below zero, and a posting that moves
// nothing, whatever led to them.
func TestWhatBreaksAnInvariantIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spent   int64
		amount  ledger.Micros
		outcome rail.Outcome
		sound   bool
	}{
		"what was held is given back": {1, 1, rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}, true},
		"more than was held":          {1, 2, rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}, false},
		"a counter below zero":        {-1, 1, rail.Outcome{Status: rail.Succeeded}, false},
		"a charge of nothing":         {1, 0, rail.Outcome{Status: rail.Succeeded}, false},
	} {
		h := &holding{
			mandate: ledger.Mandate{ID: "del_1", Windows: spentOf100(test.spent)},
			charge:  ledger.Charge{ID: "txn_1", MandateID: "del_1", MerchantID: "mer_1", Amount: test.amount, Day: ledger.DayOf(time.Now()), Status: ledger.ChargePending},
		}
		l := start(t, h, 0)
		_, err := l.Settle(t.Context(), h.charge, ledger.Settlement{Rail: rail.Card, Outcome: test.outcome})
		l.Close()
		if test.sound {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, ledger.ErrInvariant, name)
			for _, e := range h.saved {
				require.Empty(t, e.Update.Mandates, name)
				require.Empty(t, e.Insert.Postings, name)
			}
		}
	}
}

// forgetful is a store of one session whose commits are done, and whose first answer
// is lost: it decides again, on what it has saved.
type forgetful struct {
	ledger.Store

	session ledger.Session
	keys    map[ledger.IdempotencyKey]ledger.Idempotency
}

func (f *forgetful) Writers() int { return 1 }

func (f *forgetful) Update(_ context.Context, _ ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	for range 2 {
		e, err := decide(&ledger.State{
			Sessions: map[string]ledger.Session{f.session.Hash: f.session}, Instruments: map[string]ledger.Instrument{}, Idempotency: f.keys,
		})
		if err != nil {
			return err
		}
		for _, s := range e.Update.Sessions {
			f.session = s
		}
		for _, i := range e.Insert.Idempotency {
			f.keys[i.IdempotencyKey] = i
		}
	}
	return nil
}

// TestLostAnswerChangesASessionOnce: an attempt is counted once, and a session that
// was declined is declined.
func TestLostAnswerChangesASessionOnce(t *testing.T) {
	t.Parallel()
	f := &forgetful{
		session: ledger.Session{Hash: "h", Status: ledger.SessionPending, ExpiresAt: time.Now().Add(time.Hour)},
		keys:    map[ledger.IdempotencyKey]ledger.Idempotency{},
	}
	l := start(t, f, 0)
	defer l.Close()
	for n := 1; n <= 2; n++ {
		s, err := l.RefuseAttempt(t.Context(), "h")
		require.NoError(t, err)
		require.Equal(t, n, s.Attempts)
	}
	s, err := l.FailSession(t.Context(), "h", ledger.SessionDeclined)
	require.NoError(t, err)
	require.Equal(t, ledger.SessionFailed, s.Status)
	_, err = l.FailSession(t.Context(), "h", ledger.SessionDeclined)
	require.ErrorIs(t, err, ledger.ErrSessionFinished, "a second request is refused")
}

// TestTextIsCheckedAtTheBorder: what a database or JSON cannot hold never reaches a batch.
func TestTextIsCheckedAtTheBorder(t *testing.T) {
	t.Parallel()
	l := start(t, &forgetful{}, 0)
	defer l.Close()
	for _, bad := range []string{"a\xffb", "a\x00b", "a\nb", "\u202e"} {
		_, err := l.Reserve(t.Context(), ledger.Reserve{Amount: 1, Description: bad})
		require.ErrorIs(t, err, ledger.ErrText)
		require.ErrorContains(t, err, "description")
		require.ErrorIs(t, l.CreateSession(t.Context(), ledger.Session{Metadata: map[string]string{"k": bad}}), ledger.ErrText)
		_, _, err = l.CreateCheckout(t.Context(), ledger.Checkout{Amount: 1, Description: bad}, ledger.Session{})
		require.ErrorIs(t, err, ledger.ErrText)
		require.ErrorIs(t, ledger.Merchant{Name: bad}.Validate(), ledger.ErrText)
	}
}
