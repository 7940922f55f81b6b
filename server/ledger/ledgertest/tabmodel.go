package ledgertest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// tabModel is what the ledger and the card's processor should hold of the tabs of one mandate.
type tabModel struct {
	model

	all       map[string]ledger.Charge            // every draw that was made, by id
	draws     map[string]map[string]ledger.Charge // those that did not leave their tab, by tab and id
	processor map[string]rail.Outcome             // the outcome of a block, by tab
	captured  map[string]ledger.Micros

	byCard   map[string]ledger.Micros // refunds by the card, by tab
	forgiven ledger.Micros            // refunds to the operator
}

// drawsAgainstAModel runs random draws, closes, captures, refusals, revocations and clock
// moves, with crashes at every commit, against a model of the windows and of the card's
// processor: it captures a block at most once, and never another amount.
func drawsAgainstAModel(t *testing.T, b *bench) {
	store := &crashing{Store: b.store}
	l, err := ledger.New(ledger.Config{Store: store, Clock: b.clock.Now})
	require.NoError(t, err)
	b.Close()
	b.Ledger = l
	rapid.Check(t, func(rt *rapid.T) {
		want := &tabModel{
			model: model{terms: b.limited(), day: ledger.DayOf(b.clock.Now()), counted: map[string]ledger.Charge{}, ended: map[string]ledger.ChargeStatus{}},
			all:   map[string]ledger.Charge{}, draws: map[string]map[string]ledger.Charge{}, processor: map[string]rail.Outcome{}, captured: map[string]ledger.Micros{},
			byCard: map[string]ledger.Micros{},
		}
		want.terms.MaxPaymentsPerDay, want.terms.MaxDaily, want.terms.MaxMonthlyPerPayee = 30, 280*cent, 290*cent
		want.terms.ExpiresAt = b.clock.Now().AddDate(0, 3, 0)
		m := b.mandate(rt, want.terms)
		rt.Repeat(map[string]func(*rapid.T){
			"draw":   func(rt *rapid.T) { b.modelDraw(rt, store, want, m) },
			"draw 2": func(rt *rapid.T) { b.modelDraw(rt, store, want, m) },
			"close": func(rt *rapid.T) {
				why := rapid.SampledFrom([]ledger.TabReason{"", ledger.TabRequested}).Draw(rt, "why")
				b.closeSome(rt, store, m, why)
			},
			"refund": func(rt *rapid.T) { b.modelRefundDraw(rt, store, want) },
			"work":   func(rt *rapid.T) { b.workOnTabs(rt, store, want, m) },
			"revoke": func(rt *rapid.T) { b.modelRevoke(rt, store, &want.model, m) },
			"reopen": func(rt *rapid.T) { b.reopen(rt, store) },
			"clock":  func(rt *rapid.T) { b.jump(rt) },
			"":       func(rt *rapid.T) { b.compareTabs(rt, want, m) },
		})
		b.clock.set(want.terms.ExpiresAt.AddDate(0, 6, 0))
		b.finishTabs(rt, store, want, m)
	})
	b.sound(t)
}

// modelDraw makes a draw as the service does: a command whose answer was lost is done again.
func (b *bench) modelDraw(rt *rapid.T, store *crashing, want *tabModel, m ledger.Mandate) {
	r := b.drawing(m, ledger.Micros(rapid.Int64Range(1, int64(110*cent)).Draw(rt, "amount")))
	for {
		day := max(ledger.DayOf(b.clock.Now()), want.day)
		expected := want.refusal(r, day)
		if !b.clock.Now().Before(want.terms.ExpiresAt) && !want.revoked {
			expected = ledger.MandateExpired
		}
		var next ledger.Tab
		if expected == "" && r.Draw.Refused == "" {
			next, expected = b.modelTab(rt, want, m, r, day)
		}
		var got ledger.Reservation
		err := again(rt, store, func() (err error) {
			got, err = b.Reserve(context.Background(), r)
			return err
		})
		var refusal *ledger.Refusal
		if expected != "" {
			require.ErrorAs(rt, err, &refusal)
			require.Equal(rt, expected, refusal.Code)
			return
		}
		require.NoError(rt, err)
		if c := got.Charge; c.ID != "" {
			if r.Draw.Refused != "" { // it counts nowhere
				require.Equal(rt, []any{ledger.ChargeFailed, r.Draw.Refused}, []any{c.Status, c.FailureReason})
				want.ended[c.ID] = c.Status
				return
			}
			require.Equal(rt, []any{ledger.ChargeAuthorized, next.ID, ledger.TabOpen}, []any{c.Status, c.TabID, next.State})
			want.day = day
			require.Equal(rt, rail.Held, want.processor[c.TabID].Status, "a draw needs a block")
			if want.draws[c.TabID] == nil {
				want.draws[c.TabID] = map[string]ledger.Charge{}
			}
			want.all[c.ID], want.counted[c.ID], want.draws[c.TabID][c.ID] = c, c, c
			return
		}
		require.Equal(rt, ledger.TabOpening, got.Tab.State)
		require.Equal(rt, []any{next.ID, next.Block, next.Owed}, []any{got.Tab.ID, got.Tab.Block, got.Tab.Owed})
		if !got.OpenTab { // its opener's answer was lost: it waits for the end of the lease
			b.clock.set(got.Tab.LeaseUntil)
			continue
		}
		tab := b.openModel(rt, store, want, got.Tab)
		if tab.Outcome == ledger.TabRefused {
			r.Draw.Refused = tab.FailureReason
		}
		r.Draw.TabID = id.New(id.Tab, b.clock.Now())
	}
}

// modelTab returns the tab that a draw must be taken from, or that it must open or wait for, or
// the limit that leaves too little for a new one.
func (b *bench) modelTab(rt *rapid.T, want *tabModel, m ledger.Mandate, r ledger.Reserve, day ledger.Day) (ledger.Tab, ledger.RefusalCode) {
	all, err := b.MandateTabs(context.Background(), m.ID, 1000)
	require.NoError(rt, err)
	owed := -want.forgiven
	for _, t := range all {
		sum := t.Owed + want.drawn(t)
		ends := t.State == ledger.TabOpen && (!b.clock.Now().Before(t.ClosesAt) || r.Amount > t.Block-sum)
		switch {
		case t.Current() && !ends:
			return t, ""
		case t.Outcome == ledger.TabRefused: // its draws failed
		case t.Outcome != "", ends && (sum < ledger.CardMinimum || want.drawn(t) == 0), t.State == ledger.TabClosing && t.Capture == 0:
			owed += want.drawn(t) - want.captured[t.ID]
		default:
			owed -= t.Owed // until the card has decided
		}
	}
	next := ledger.Tab{ID: r.Draw.TabID, State: ledger.TabOpening}
	least, code := int64(math.MaxInt64), ledger.MonthlyLimit
	for _, kind := range []ledger.WindowKind{ledger.DailyLimit, ledger.MonthlyLimit, ledger.TotalLimit, ledger.PayeeLimit} {
		if left := want.terms.Cap(kind) - want.used(kind, r.Payee.ID, day); left < least {
			least, code = left, kind
		}
	}
	next.Block = min(r.Draw.Block, ledger.Micros(least)+owed)
	next.Block -= next.Block % cent
	next.Owed = max(min(owed, next.Block-r.Amount), 0)
	if next.Block < ledger.CardMinimum || r.Amount > next.Block-next.Owed {
		return next, code
	}
	return next, ""
}

// drawn returns the sum of the draws that did not leave a tab.
func (w *tabModel) drawn(t ledger.Tab) (sum ledger.Micros) {
	for _, c := range w.draws[t.ID] {
		sum += c.Amount
	}
	return sum
}

// openModel asks the processor for a block, mostly with success.
func (b *bench) openModel(rt *rapid.T, store *crashing, want *tabModel, t ledger.Tab) (opened ledger.Tab) {
	o, asked := want.processor[t.ID]
	if !asked {
		o = rapid.SampledFrom([]rail.Outcome{held, held, held, {Status: rail.Refused, Reason: rail.CardDeclined}}).Draw(rt, "block")
		want.processor[t.ID] = o
	}
	require.NoError(rt, again(rt, store, func() (err error) {
		opened, err = b.OpenTab(context.Background(), t, o)
		return err
	}))
	return opened
}

// closeSome closes the tab that is current, if there is one.
func (b *bench) closeSome(rt *rapid.T, store *crashing, m ledger.Mandate, why ledger.TabReason) {
	current, err := b.CurrentTabs(context.Background(), m.ID)
	require.NoError(rt, err)
	require.LessOrEqual(rt, len(current), 1)
	for _, t := range current {
		require.NoError(rt, again(rt, store, func() error {
			_, err := b.CloseTab(context.Background(), t, why)
			return err
		}))
	}
}

// workOnTabs does the next step of each tab that is not closed, as the service's worker does.
func (b *bench) workOnTabs(rt *rapid.T, store *crashing, want *tabModel, m ledger.Mandate) (left int) {
	all, err := b.MandateTabs(context.Background(), m.ID, 1000)
	require.NoError(rt, err)
	for _, t := range all {
		switch t.State {
		case ledger.TabOpening:
			leased, taken, err := b.LeaseTab(context.Background(), t, b.clock.Now().Add(time.Minute))
			require.NoError(rt, err)
			if taken {
				b.openModel(rt, store, want, leased)
			}
		case ledger.TabOpen:
		case ledger.TabClosing:
			o := want.closes(rt, t)
			require.NoError(rt, again(rt, store, func() error {
				_, err := b.SettleTab(context.Background(), t, o)
				return err
			}))
		case ledger.TabSettling:
			b.settleSome(rt, store, want, t)
		case ledger.TabClosed:
			continue
		}
		left++
	}
	return left
}

// closes is the processor's answer to the capture of a block, or to its void: always the same.
func (w *tabModel) closes(rt *rapid.T, t ledger.Tab) rail.Outcome {
	o := w.processor[t.ID]
	if o.Status != rail.Held && o.Status != "" {
		require.True(rt, o.Status != rail.Succeeded || w.captured[t.ID] == t.Capture, "captured with another amount")
		return o
	}
	switch {
	case t.Capture == 0 || o.Status == "":
		o = voidedTab
	case rapid.IntRange(0, 3).Draw(rt, "capture") == 0:
		o = rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}
	default:
		o, w.captured[t.ID] = capturedTab, t.Capture
	}
	w.processor[t.ID] = o
	return o
}

// settleSome decides up to two draws of a settling tab, or closes it.
func (b *bench) settleSome(rt *rapid.T, store *crashing, want *tabModel, t ledger.Tab) {
	draws, err := b.Draws(context.Background(), t.ID, "", 1000)
	require.NoError(rt, err)
	var ids []string
	for _, c := range draws {
		if c.Status == ledger.ChargeAuthorized && len(ids) < 2 {
			ids = append(ids, c.ID)
		}
	}
	decided := map[ledger.TabOutcome]ledger.ChargeStatus{
		ledger.TabCaptured: ledger.ChargeSucceeded, ledger.TabVoided: ledger.ChargeWrittenOff, ledger.TabRefused: ledger.ChargeFailed,
	}[t.Outcome]
	err = again(rt, store, func() error {
		_, err := b.SettleDraws(context.Background(), t, ids)
		return err
	})
	if !errors.Is(err, ledger.ErrTabChanged) {
		require.NoError(rt, err)
	}
	for _, id := range ids {
		if want.ended[id] = decided; decided == ledger.ChargeFailed {
			delete(want.counted, id)
		}
	}
}

// finishTabs sees all tabs of an expired mandate to their end. The processor captured just
// what the draws of the captured tabs sum up to, and the operator advanced the rest.
func (b *bench) finishTabs(rt *rapid.T, store *crashing, want *tabModel, m ledger.Mandate) {
	for n := 0; ; n++ {
		require.Less(rt, n, 1000)
		b.closeSome(rt, store, m, "")
		if b.workOnTabs(rt, store, want, m) == 0 {
			break
		}
		b.clock.set(b.clock.Now().Add(2 * time.Minute))
	}
	b.compareTabs(rt, want, m)
	var captured, moved ledger.Micros
	all, err := b.MandateTabs(context.Background(), m.ID, 1000)
	require.NoError(rt, err)
	for _, t := range all {
		if t.Outcome == ledger.TabCaptured {
			captured += t.Capture
		}
		moved += want.captured[t.ID]
	}
	require.Equal(rt, moved, captured)
	var paid ledger.Micros
	for id := range want.all {
		c, err := b.Charge(context.Background(), id)
		require.NoError(rt, err)
		if c.Paid() {
			paid += c.Amount
		}
	}
	require.LessOrEqual(rt, want.forgiven, paid-moved, "the operator gets back what it has advanced")
}

// compareTabs looks whether database and model agree.
func (b *bench) compareTabs(rt *rapid.T, want *tabModel, m ledger.Mandate) {
	b.compare(rt, &want.model, m)
	all, err := b.MandateTabs(context.Background(), m.ID, 1000)
	require.NoError(rt, err)
	for _, t := range all {
		require.Equal(rt, []any{want.drawn(t), int64(len(want.draws[t.ID]))}, []any{t.Drawn, t.Draws})
		require.GreaterOrEqual(rt, t.Rest(), ledger.Micros(0))
		require.LessOrEqual(rt, t.Capture, t.Block)
	}
}
