package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// Report is what a check found.
type Report struct {
	// What was looked at. Of an incremental check: what had changed.
	Mandates  int
	Charges   int
	Postings  int
	Succeeded int
	Failed    int
	Pending   int
	Volume    Micros
	// Faults are the rules that are broken, at most [MaxFaults] of them; empty
	// where the ledger is sound.
	Faults []string
}

// A check of what changed works for so long at a time, and rests for so many times as
// long: charges go on beside it.
const workFor, restShare = 2 * time.Millisecond, 3

// MaxFaults is how many faults a report lists.
const MaxFaults = 100

// Check recomputes every counter and total from the charges and their postings,
// in one snapshot, and reports what does not agree. The error tells that the
// store could not be read.
func Check(ctx context.Context, store Reader) (Report, error) {
	return NewChecker(store).Whole(ctx)
}

// Checker checks a ledger again and again: the whole once, then what changed. It
// remembers some hundred bytes for each mandate.
type Checker struct {
	store Reader

	mu       sync.Mutex
	known    bool
	mandates map[string]sums
	tallies  map[TallyKey]Tally
}

// sums are what a mandate's decided charges add up to.
type sums struct {
	month   Month
	settled Micros // succeeded charges of month
	decided int64  // charges that have ended, ever
	seq     int64  // of the last event that was counted
}

// NewChecker returns a checker that knows nothing yet.
func NewChecker(store Reader) *Checker { return &Checker{store: store} }

// Whole checks everything. Its error tells that the store could not be read.
func (c *Checker) Whole(ctx context.Context) (Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run(ctx, (*check).whole)
}

// Changed checks what changed since the last check, and the whole where there was
// none or it found a fault. It sees changes by the service, not those by a hand in
// old rows: that takes [Checker.Whole]. It takes a quarter of a processor at most.
// Its error tells that the store could not be read.
func (c *Checker) Changed(ctx context.Context) (Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return c.run(ctx, (*check).whole)
	}
	return c.run(ctx, (*check).changed)
}

// run checks one snapshot. What was learnt is kept only where all is well.
func (c *Checker) run(ctx context.Context, how func(*check, context.Context) error) (Report, error) {
	k := &check{Checker: c, pending: map[string]map[Month]Micros{}}
	err := c.store.Audit(ctx, func(a Audit) error {
		k.Audit = a
		return how(k, ctx)
	})
	c.known = err == nil && len(k.Faults) == 0
	if err != nil {
		return Report{}, fmt.Errorf("check ledger: %w", err)
	}
	return k.Report, nil
}

// check is one check of one snapshot.
type check struct {
	*Checker
	Audit
	Report

	pending map[string]map[Month]Micros // by mandate
}

func (k *check) fault(format string, args ...any) {
	if len(k.Faults) < MaxFaults {
		k.Faults = append(k.Faults, fmt.Sprintf(format, args...))
	}
}

// whole forgets what is known and adds everything up anew.
func (k *check) whole(ctx context.Context) error {
	k.mandates, k.tallies = map[string]sums{}, map[TallyKey]Tally{}
	counters := map[string]Counter{}
	return inTurn(
		func() error {
			return k.Counters(ctx, func(m Counter) error {
				counters[m.MandateID] = m
				k.mandates[m.MandateID] = sums{month: m.Month, seq: m.EventSeq}
				return nil
			})
		},
		func() error {
			return k.Audit.Charges(ctx, func(c Charge, p []Posting) error {
				k.count(c, p)
				k.add(c)
				return nil
			})
		},
		func() error { return k.allTallies(ctx) },
		func() error { return k.allEvents(ctx, counters) },
		func() error {
			for _, m := range counters {
				k.counter(m)
			}
			return nil
		},
	)
}

// inTurn runs the steps up to the first error.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// count checks that a charge has exactly the postings of its state.
func (k *check) count(c Charge, got []Posting) {
	if c.MandateID == "" {
		k.fault("postings of charge %s: there is no such charge", c.ID)
		return
	}
	k.Report.Charges++
	k.Report.Postings += len(got)
	var want []Posting
	switch c.Status {
	case ChargeSucceeded:
		k.Succeeded++
		k.Volume += c.Amount
		want = postings(c, c.CreatedAt)
	case ChargeFailed:
		k.Failed++
	case ChargePending:
		k.Report.Pending++
	default:
		k.fault("charge %s: unknown status %q", c.ID, c.Status)
	}
	if !slices.EqualFunc(want, got, samePosting) {
		k.fault("charge %s (%s): postings do not fit", c.ID, c.Status)
	}
	if c.Status == ChargeSucceeded && c.Fee != c.fee() {
		k.fault("charge %s: fee is %d micros, should be %d", c.ID, c.Fee, c.fee())
	}
}

func samePosting(a, b Posting) bool {
	return a.N == b.N && a.From == b.From && a.To == b.To && a.Amount == b.Amount && a.MandateID == b.MandateID
}

// add adds a charge to what its mandate and its payee's tally come to.
func (k *check) add(c Charge) {
	if c.MandateID == "" {
		return
	}
	m, known := k.mandates[c.MandateID]
	if !known {
		k.fault("charge %s: there is no mandate %s", c.ID, c.MandateID)
		return
	}
	switch c.Status {
	case ChargePending:
		k.hold(c)
		return
	case ChargeSucceeded:
		key := TallyKey{MandateID: c.MandateID, MerchantID: c.MerchantID}
		t := k.tallies[key]
		k.tallies[key] = Tally{TallyKey: key, Count: t.Count + 1, Volume: t.Volume + c.Amount}
		if c.Month == m.month {
			m.settled += c.Amount
		}
	case ChargeFailed: // decided, and nothing moved
	}
	m.decided++
	k.mandates[c.MandateID] = m
}

func (k *check) hold(c Charge) {
	if k.pending[c.MandateID] == nil {
		k.pending[c.MandateID] = map[Month]Micros{}
	}
	k.pending[c.MandateID][c.Month] += c.Amount
}

// counter checks a mandate's counter and how many events it has told of.
func (k *check) counter(m Counter) {
	k.Report.Mandates++
	known := k.mandates[m.MandateID]
	spent := known.settled + k.pending[m.MandateID][m.Month]
	if m.Spent != spent || spent > m.MaxMonthly {
		k.fault("mandate %s: counter says %d micros of %d in %s, charges say %d", m.MandateID, m.Spent, m.MaxMonthly, m.Month, spent)
	}
	changes := 1 + known.decided // delegate.created
	if m.Status == MandateRevoked {
		changes++
	}
	if m.EventSeq != changes {
		k.fault("mandate %s: %d events told of, %d changes", m.MandateID, m.EventSeq, changes)
	}
}

func (k *check) allTallies(ctx context.Context) error {
	seen := 0
	err := k.Tallies(ctx, func(t Tally) error {
		k.tally(t)
		if _, known := k.tallies[t.TallyKey]; known {
			seen++
		}
		return nil
	})
	if seen != len(k.tallies) {
		k.fault("%d tallies are missing", len(k.tallies)-seen)
	}
	return err
}

func (k *check) tally(t Tally) {
	if want := k.tallies[t.TallyKey]; want != t {
		k.fault("tally of %s at %s: says %d charges of %d micros, charges say %d of %d", t.MerchantID, t.MandateID,
			t.Count, t.Volume, want.Count, want.Volume)
	}
}

// allEvents checks that each mandate's events are numbered without a gap up to its
// last one; old ones may be gone.
func (k *check) allEvents(ctx context.Context, counters map[string]Counter) error {
	var last Event
	end := func() {
		if m, known := counters[last.MandateID]; last.MandateID != "" && (!known || m.EventSeq != last.Seq) {
			k.fault("mandate %s: its last event is %d, it told of %d", last.MandateID, last.Seq, m.EventSeq)
		}
	}
	err := k.Events(ctx, func(e Event) error {
		if e.MandateID != last.MandateID {
			end()
		} else if e.Seq != last.Seq+1 {
			k.fault("mandate %s: event %d follows event %d", e.MandateID, e.Seq, last.Seq)
		}
		if e.Seq == 1 && e.Type != webhook.DelegateCreated {
			k.fault("mandate %s: its first event is %s", e.MandateID, e.Type)
		}
		last = e
		return nil
	})
	end()
	return err
}

// changed adds what the events since the last check tell of, and checks every
// mandate's counter against it.
func (k *check) changed(ctx context.Context) error {
	if err := k.Audit.Pending(ctx, func(c Charge) error { k.count(c, nil); k.hold(c); return nil }); err != nil {
		return err
	}
	var moved []Counter
	if err := k.Counters(ctx, func(m Counter) error {
		known := k.mandates[m.MandateID]
		if m.Month != known.month {
			known.month, known.settled = m.Month, 0
			k.mandates[m.MandateID] = known
		}
		if m.EventSeq != known.seq {
			moved = append(moved, m)
		} else {
			k.counter(m)
		}
		return nil
	}); err != nil {
		return err
	}
	began := time.Now()
	for _, m := range moved {
		if err := k.follow(ctx, m); err != nil {
			return err
		}
		k.counter(m)
		if worked := time.Since(began); worked > workFor {
			if err := rest(ctx, restShare*worked); err != nil {
				return err
			}
			began = time.Now()
		}
	}
	return nil
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// follow adds what a mandate's events since the last check tell of.
func (k *check) follow(ctx context.Context, m Counter) error {
	known := k.mandates[m.MandateID]
	events, err := k.EventsOf(ctx, m.MandateID, known.seq)
	if err != nil {
		return err
	}
	for i, e := range events {
		if e.Seq != known.seq+int64(i)+1 {
			k.fault("mandate %s: event %d is missing", m.MandateID, known.seq+int64(i)+1)
		}
		if e.Type != webhook.PaymentSucceeded && e.Type != webhook.PaymentFailed {
			continue
		}
		if err := k.told(ctx, e); err != nil {
			return err
		}
	}
	if len(events) == 0 || events[len(events)-1].Seq != m.EventSeq {
		k.fault("mandate %s: event %d is missing", m.MandateID, m.EventSeq)
	}
	known = k.mandates[m.MandateID]
	known.seq = m.EventSeq
	k.mandates[m.MandateID] = known
	return nil
}

// told checks the charge that an event tells of.
func (k *check) told(ctx context.Context, e Event) error {
	var data webhook.Payment
	if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
		k.fault("event %s: %v", e.ID, err)
		return nil
	}
	c, p, err := k.Audit.Charge(ctx, data.TransactionID)
	switch {
	case errors.Is(err, ErrNotFound):
		k.fault("event %s: there is no charge %s", e.ID, data.TransactionID)
		return nil
	case err != nil:
		return err
	case c.Status == ChargePending || c.MandateID != e.MandateID:
		k.fault("event %s: charge %s is %s", e.ID, c.ID, c.Status)
		return nil
	}
	k.count(c, p)
	k.add(c)
	return nil
}
