package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/webhook"
)

// Check recomputes all spending and totals from the charges and their postings, and
// reports the differences. It reads one snapshot, which stays open throughout: about three
// seconds for a million postings. Its errors are those of the store.
func Check(ctx context.Context, store Reader) (Report, error) {
	return CheckAt(ctx, store, time.Now())
}

// CheckAt is like [Check] at another time: events that retention may have deleted by then
// may be missing.
func CheckAt(ctx context.Context, store Reader, now time.Time) (Report, error) {
	k := &check{
		horizon: now.Add(-Keep), mandates: map[string]sums{}, tallies: map[TallyKey]Tally{}, payees: map[TallyKey]map[Day]Micros{},
		refunded: map[string]refundSums{}, decided: map[string]int64{}, direct: newTransferEventsCheck(now.Add(-Keep)),
		left:     map[string]bool{},
		sessions: map[string]Micros{},
		draws:    map[string]drawSums{}, advances: map[string][]Posting{},
	}
	// Reversals are not in the snapshot: those that happen meanwhile may be in it or not.
	before, err := reversals(ctx, store)
	if err == nil {
		err = store.Audit(ctx, func(a Audit) error {
			k.Audit = a
			return k.all(ctx)
		})
	}
	var after map[string]int64
	if err == nil {
		after, err = reversals(ctx, store)
	}
	if err != nil {
		return Report{}, fmt.Errorf("check ledger: %w", err)
	}
	for mandateID, m := range k.counters {
		k.counter(m, before[mandateID], after[mandateID])
	}
	return k.Report, nil
}

// reversals counts the payments of each mandate that were taken back.
func reversals(ctx context.Context, store Reader) (map[string]int64, error) {
	const page = 1000
	counts := map[string]int64{}
	for after := (OutcomeConflict{}); ; {
		list, err := store.OutcomeConflicts(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			if after = x; x.Status != Reversed {
				continue
			}
			c, err := store.Charge(ctx, x.ChargeID)
			if err != nil {
				return nil, fmt.Errorf("charge %s: %w", x.ChargeID, err)
			}
			counts[c.MandateID]++
		}
		if len(list) < page {
			return counts, nil
		}
	}
}

// check is a full check in one snapshot.
type check struct {
	Audit
	Report

	counters map[string]Counter
	horizon  time.Time // earlier events may have been deleted
	mandates map[string]sums
	tallies  map[TallyKey]Tally
	payees   map[TallyKey]map[Day]Micros // what payees with a limit hold and received, by month
	refunded map[string]refundSums       // what charges say of their refunds
	decided  map[string]int64            // refunds that have an event of their own, by mandate
	left     map[string]bool             // draws that left their tab
	direct   transferEventsCheck
	sessions map[string]Micros    // balances of session accounts, by mandate
	draws    map[string]drawSums  // draws, by tab
	advances map[string][]Posting // postings of tabs, by tab
}

// sums are the sums of a mandate's charges.
type sums struct {
	windows []Window // with what the charges say in Used
	changes int64    // number of changes of charges that have an event
	payees  bool     // the mandate limits what one payee receives
}

// all runs the check.
func (k *check) all(ctx context.Context) error {
	k.counters = map[string]Counter{}
	return inTurn(
		func() error {
			return k.Counters(ctx, func(m Counter) error {
				k.counters[m.MandateID] = m
				k.mandates[m.MandateID] = sums{windows: emptied(m.Windows), payees: m.Payees}
				return nil
			})
		},
		func() error {
			return k.Audit.Charges(ctx, func(c Charge, p []Posting) error {
				switch {
				case c.MandateID == "" && strings.HasPrefix(c.ID, id.Tab):
					k.advances[c.ID] = p
					return nil
				case c.MandateID == "" && strings.HasPrefix(c.ID, id.Sweep):
					k.sweep(p)
					return nil
				case c.Source == SourceSeller:
					k.session(c.MandateID, p)
				}
				k.count(c, p)
				k.add(c, forgiven(p))
				return nil
			})
		},
		func() error { return k.allRefunds(ctx) },
		k.allSessions,
		func() error { return k.allTabs(ctx) },
		func() error { return k.allTallies(ctx) },
		func() error { return k.allEvents(ctx, k.counters) },
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

// add adds a charge to the sums of its mandate and to the tally of its payee. Of its refunds,
// forgiven went back to the operator.
func (k *check) add(c Charge, forgiven Micros) {
	if c.MandateID == "" {
		return
	}
	m, known := k.mandates[c.MandateID]
	if !known && !c.Direct() {
		k.fault("charge %s: there is no mandate %s", c.ID, c.MandateID)
		return
	}
	key := TallyKey{MandateID: c.MandateID, MerchantID: c.MerchantID}
	if c.Refunds > 0 {
		k.refunded[c.ID] = refundsSaid(c, forgiven)
	}
	if forgiven > 0 {
		k.Advanced -= forgiven
		k.owes(key, -forgiven)
	}
	if c.Status != ChargeFailed && c.Status != ChargeVoided {
		count(m.windows, c.Day, c.Amount, 1)
		countRefund(m.windows, c, c.Refunded)
		if m.payees {
			k.payee(key, c)
		}
	}
	switch {
	case c.leftTab():
		k.left[c.ID] = true
	case c.TabID != "":
		k.draws[c.TabID] = k.draws[c.TabID].with(c)
	}
	if c.Paid() {
		t := k.tallies[key]
		t.TallyKey, t.Count, t.Volume, t.Refunded = key, t.Count+1, t.Volume+c.Amount, t.Refunded+c.Refunded
		k.tallies[key] = t
	}
	if c.Direct() {
		k.direct.charge(c)
		return
	}
	m.changes += c.changes()
	k.mandates[c.MandateID] = m
}

// changes returns the number of events of a charge, except reversals.
func (c Charge) changes() (n int64) {
	if c.Step == StepCapture || c.TabID != "" || c.Status == ChargeAuthorized || c.Status == ChargeVoided {
		n++ // it was authorized
	}
	if c.Status != ChargePending && c.Status != ChargeAuthorized {
		n++
	}
	return n
}

func (k *check) payee(key TallyKey, c Charge) {
	if k.payees[key] == nil {
		k.payees[key] = map[Day]Micros{}
	}
	k.payees[key][Window{Kind: PayeeLimit}.start(c.Day)] += c.Amount - c.Refunded
}

// emptied returns windows in which nothing is used.
func emptied(all []Window) []Window {
	all = slices.Clone(all)
	for i := range all {
		all[i].Used = 0
	}
	return all
}

// count adds charges of a day to those windows in which it counts.
func count(all []Window, d Day, amount Micros, number int64) {
	for i, w := range all {
		switch {
		case w.start(d) != w.Start:
		case w.Counts():
			all[i].Used += number
		default:
			all[i].Used += int64(amount)
		}
	}
}

// countRefund subtracts what was refunded of a charge from those windows that it frees.
func countRefund(all []Window, c Charge, amount Micros) {
	for i, w := range all {
		if w.start(c.Day) == w.Start && !w.Counts() && !w.keeps(c) {
			all[i].Used -= int64(amount)
		}
	}
}

// counter checks a mandate's spending and its number of events, of which at least and at
// most so many are reversals.
func (k *check) counter(m Counter, least, most int64) {
	k.Report.Mandates++
	known := k.mandates[m.MandateID]
	k.used(m, known.windows)
	changes := 1 + known.changes + k.decided[m.MandateID] // delegate.created
	if m.Status == MandateRevoked {
		changes++
	}
	if m.EventSeq < changes+least || m.EventSeq > changes+most {
		k.fault("mandate %s: %d events, %d changes", m.MandateID, m.EventSeq, changes+least)
	}
}

// refundSums are the sums of a charge's refunds, or those that the charge has.
type refundSums struct {
	refunded, refunding, withoutRail Micros
	number                           int
}

// refundsSaid returns what a charge and its postings say of its refunds. Those of a draw that
// left its tab are in none of its sums, since it was not paid.
func refundsSaid(c Charge, forgiven Micros) refundSums {
	if c.leftTab() {
		return refundSums{c.Amount, c.Refunding, c.Amount, c.Refunds}
	}
	return refundSums{c.Refunded, c.Refunding, forgiven, c.Refunds}
}

// allRefunds compares the refunds with what their charges say.
func (k *check) allRefunds(ctx context.Context) error {
	sums := map[string]refundSums{}
	err := k.Audit.Refunds(ctx, func(r Refund) error {
		s := sums[r.ChargeID]
		s.number++
		switch r.Status {
		case RefundSucceeded:
			s.refunded += r.Amount
			if r.Rail == "" {
				s.withoutRail += r.Amount
			}
		case RefundPending:
			s.refunding += r.Amount
		case RefundFailed:
		}
		if r.Status != RefundPending && !k.left[r.ChargeID] {
			k.decided[r.MandateID]++
		}
		sums[r.ChargeID] = s
		return nil
	})
	for id, charge := range k.refunded {
		if sums[id] != charge {
			k.fault("charge %s: says %d refunds of %d micros, %d by no rail, %d pending; its refunds say %d of %d, %d, %d pending", id,
				charge.number, charge.refunded, charge.withoutRail, charge.refunding,
				sums[id].number, sums[id].refunded, sums[id].withoutRail, sums[id].refunding)
		}
		delete(sums, id)
	}
	for id := range sums {
		k.fault("charge %s: has refunds that it does not count", id)
	}
	return err
}

func (k *check) allTallies(ctx context.Context) error {
	seen := 0
	for key := range k.payees {
		if _, known := k.tallies[key]; !known {
			k.tallies[key] = Tally{TallyKey: key}
		}
	}
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
	want := k.tallies[t.TallyKey]
	if t.Count != want.Count || t.Volume != want.Volume || t.Refunded != want.Refunded {
		k.fault("tally of %s at %s: says %d charges of %d micros, %d refunded; charges say %d of %d, %d refunded", t.MerchantID, t.MandateID,
			t.Count, t.Volume, t.Refunded, want.Count, want.Volume, want.Refunded)
	}
	if t.Owed != want.Owed {
		k.fault("tally of %s at %s: says that %d micros are owed, tabs say %d", t.MerchantID, t.MandateID, t.Owed, want.Owed)
	}
	if used := k.payees[t.TallyKey][t.Month]; t.Used != used {
		k.fault("tally of %s at %s: says %d micros since %d, charges say %d", t.MerchantID, t.MandateID, t.Used, t.Month, used)
	}
}

// allEvents checks that each mandate's events are numbered without gaps. Events up to the
// last one before the horizon may be missing.
func (k *check) allEvents(ctx context.Context, counters map[string]Counter) error {
	var (
		last Event
		gap  string
	)
	end := func() {
		if gap != "" {
			k.fault("%s", gap)
		}
		m, known := counters[last.MandateID]
		if last.MandateID != "" && (!known || m.EventSeq < last.Seq || (m.EventSeq > last.Seq && !last.CreatedAt.Before(k.horizon))) {
			k.fault("mandate %s: its last event is %d, it counts %d", last.MandateID, last.Seq, m.EventSeq)
		}
	}
	err := k.Events(ctx, func(e Event) error {
		if isTransfer(e.MandateID) {
			k.direct.event(e)
			return nil
		}
		switch {
		case e.MandateID != last.MandateID:
			end()
			gap = ""
		case e.CreatedAt.Before(k.horizon):
			gap = ""
		case e.Seq != last.Seq+1 && !last.CreatedAt.Before(k.horizon) && gap == "":
			gap = fmt.Sprintf("mandate %s: event %d follows event %d", e.MandateID, e.Seq, last.Seq)
		}
		if e.Seq == 1 && e.Type != webhook.MandateCreated {
			k.fault("mandate %s: its first event is %s", e.MandateID, e.Type)
		}
		last = e
		return nil
	})
	end()
	if err == nil && !k.direct.agrees() {
		k.fault("signed transfers: the charges and their events differ")
	}
	return err
}
