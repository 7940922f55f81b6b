package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

// snapshot is a ledger of one mandate, as a store that checks nothing would hold it.
type snapshot struct {
	ledger.Reader

	counter ledger.Counter
	pending []ledger.Charge
	events  []ledger.Event
}

// OutcomeConflicts implements [ledger.Reader].
func (s snapshot) OutcomeConflicts(context.Context, ledger.OutcomeConflict, int) ([]ledger.OutcomeConflict, error) {
	return nil, nil
}

func (s snapshot) Audit(_ context.Context, check func(ledger.Audit) error) error {
	return check(audited{s: s})
}

type audited struct {
	ledger.Audit

	s snapshot
}

func (a audited) Counters(_ context.Context, each func(ledger.Counter) error) error {
	return each(a.s.counter)
}

func (a audited) Tabs(context.Context, func(ledger.Tab) error) error { return nil }

func (a audited) Charges(_ context.Context, each func(ledger.Charge, []ledger.Posting) error) error {
	for _, c := range a.s.pending {
		if err := each(c, nil); err != nil {
			return err
		}
	}
	return nil
}

func (a audited) Refunds(context.Context, func(ledger.Refund) error) error { return nil }

func (a audited) Tallies(context.Context, func(ledger.Tally) error) error { return nil }

func (a audited) Events(_ context.Context, each func(ledger.Event) error) error {
	for _, e := range a.s.events {
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// TestCounterAboveTheLimitIsAFault: the counter agrees with the charges, and both
// exceed what the person signed.
func TestCounterAboveTheLimitIsAFault(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := snapshot{
		counter: ledger.Counter{
			MandateID: "del_1", Status: ledger.MandateActive, EventSeq: 1,
			Windows: []ledger.Window{{Kind: ledger.MonthlyLimit, Start: 20261100, Used: 101, Cap: 100}},
		},
		pending: []ledger.Charge{{ID: "txn_1", MandateID: "del_1", Amount: 101, Day: 20261122, Status: ledger.ChargePending}},
		events:  []ledger.Event{{MandateID: "del_1", Seq: 1, Type: webhook.MandateCreated, CreatedAt: now}},
	}
	r, err := ledger.CheckAt(t.Context(), s, now)
	require.NoError(t, err)
	require.Len(t, r.Faults, 1)
	s.counter.Windows[0].Cap = 101
	r, err = ledger.CheckAt(t.Context(), s, now)
	require.NoError(t, err)
	require.Empty(t, r.Faults)
}

// TestGapsOfOldEventsAreNoFault: what retention may have deleted is not missed, and
// what it cannot have deleted is.
func TestGapsOfOldEventsAreNoFault(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old, fresh := now.Add(-ledger.Keep-time.Hour), now.Add(-time.Hour)
	for name, c := range map[string]struct {
		at    []time.Time // of events 2, 3 and 4; a zero time: there is none
		fault bool
	}{
		"below and above":          {[]time.Time{old, old, fresh}, false},
		"gap above the horizon":    {[]time.Time{fresh, {}, fresh}, true},
		"gap at the horizon":       {[]time.Time{old, {}, fresh}, false},
		"gap before the horizon":   {[]time.Time{old, {}, old}, false},
		"the last ones are gone":   {[]time.Time{old, {}, {}}, false},
		"the last one is missing":  {[]time.Time{fresh, fresh, {}}, true},
		"the first ones are gone":  {[]time.Time{{}, {}, fresh}, false},
		"all are there, in order":  {[]time.Time{fresh, fresh, fresh}, false},
		"clocks that differ":       {[]time.Time{fresh, {}, old}, false},
		"all are there, all below": {[]time.Time{old, old, old}, false},
	} {
		s := snapshot{counter: ledger.Counter{MandateID: "del_1", Status: ledger.MandateActive, EventSeq: 4}}
		for i, at := range c.at {
			if !at.IsZero() {
				s.events = append(s.events, ledger.Event{MandateID: "del_1", Seq: int64(i) + 2, Type: webhook.PaymentFailed, CreatedAt: at})
			}
		}
		for range 3 { // as many charges as there are events
			s.pending = append(s.pending, ledger.Charge{ID: "txn", MandateID: "del_1", Status: ledger.ChargeFailed})
		}
		r, err := ledger.CheckAt(t.Context(), s, now)
		require.NoError(t, err)
		require.Equal(t, c.fault, len(r.Faults) > 0, "%s: %v", name, r.Faults)
	}
}
