package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// batch is the check of some mandates in one snapshot.
type batch struct {
	*Report

	horizon, now time.Time
	counters     []Counter
	transfers    []string // owners of the events of signed transfers
	known        map[string]MandateCheck
	events       map[string][]Event // new events, by mandate
	cut          string             // the last mandate whose events were read, if some were not
	charges      map[string]Charge
	postings     map[string][]Posting
	held         map[string][]HeldCharges // by mandate

	checked    []MandateCheck
	unfinished []string // mandates with more events than a batch holds
}

// read reads what the check of some mandates needs.
func (b *batch) read(ctx context.Context, a Audit, ids []string) (err error) {
	b.known, b.held, b.events = map[string]MandateCheck{}, map[string][]HeldCharges{}, map[string][]Event{}
	b.charges, b.postings = map[string]Charge{}, map[string][]Posting{}
	if b.counters, err = a.CountersOf(ctx, ids); err != nil {
		return err
	}
	known, err := a.ChecksOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, k := range known {
		b.known[k.MandateID] = k
	}
	held, err := a.HeldOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, h := range held {
		b.held[h.MandateID] = append(b.held[h.MandateID], h)
	}
	since := map[string]int64{}
	for _, one := range ids {
		if isTransfer(one) {
			b.transfers = append(b.transfers, one)
			since[one] = 0
		}
	}
	for _, m := range b.counters {
		if k := b.known[m.MandateID]; k.Seq != m.EventSeq {
			since[m.MandateID] = k.Seq
		}
	}
	events, err := a.EventsSince(ctx, since, checkEvents)
	if err != nil {
		return err
	}
	var charges []string
	for _, e := range events {
		b.events[e.MandateID] = append(b.events[e.MandateID], e)
		if isPayment(e) || isRefund(e) {
			charges = append(charges, chargeOf(e))
		}
	}
	if len(events) == checkEvents {
		b.cut = events[len(events)-1].MandateID
	}
	return a.ChargesOf(ctx, charges, func(c Charge, p []Posting) error {
		b.charges[c.ID], b.postings[c.ID] = c, p
		return nil
	})
}

// decided are the events that end a charge, with the status that it has then.
var decided = map[webhook.Type]ChargeStatus{
	webhook.PaymentSucceeded: ChargeSucceeded, webhook.PaymentFailed: ChargeFailed, webhook.PaymentVoided: ChargeVoided,
	webhook.PaymentWrittenOff: ChargeWrittenOff,
}

func isPayment(e Event) bool { return decided[e.Type] != "" }

func isRefund(e Event) bool { return e.Type == webhook.PaymentRefunded }

// refund checks the charge of a refund's event, and subtracts the refund.
func (b *batch) refund(k *MandateCheck, e Event) {
	var data webhook.Payment
	c, found := b.charges[chargeOf(e)]
	if json.Unmarshal([]byte(e.Data), &data) != nil || data.Refund == nil || !found || c.MandateID != e.MandateID || !c.Paid() {
		b.fault("event %s: there is no refunded charge %q", e.ID, chargeOf(e))
		return
	}
	b.posted(c, b.postings[c.ID])
	countRefund(k.Settled, c, Micros(data.Refund.AmountMicros))
}

// chargeOf returns the charge id of a payment event, or an empty string if its data is
// invalid.
func chargeOf(e Event) string {
	var data webhook.Payment
	if json.Unmarshal([]byte(e.Data), &data) != nil {
		return ""
	}
	return data.TransactionID
}

// check checks each mandate that was read.
func (b *batch) check() {
	for _, m := range b.counters {
		if b.cut != "" && m.MandateID > b.cut {
			b.unfinished = append(b.unfinished, m.MandateID) // its events were not read
			continue
		}
		b.mandate(m)
	}
	for _, owner := range b.transfers {
		if b.cut != "" && owner >= b.cut {
			b.unfinished = append(b.unfinished, owner)
			continue
		}
		b.transfer(owner)
	}
}

// mandate adds a mandate's new events to its stored sums, and compares them with its row.
// The stored sums do not change while there is a fault, so that the next round finds the
// fault again.
func (b *batch) mandate(m Counter) {
	before, followed := b.known[m.MandateID]
	k, sum := before, b.events[m.MandateID]
	k.MandateID, k.Fault, k.CheckedAt = m.MandateID, "", b.now
	faults := len(b.Faults)
	b.Mandates++
	if !followed && (len(sum) == 0 || sum[0].Seq != 1) || b.deleted(before, m, sum) {
		k = b.baseline(m)
	} else {
		k.Settled = current(k.Settled, m.Windows)
		b.follow(&k, sum)
		k.Settled = b.withAdded(k.Settled, before.Settled, m)
		b.compare(k, m)
	}
	switch found := b.Faults[faults:]; {
	case len(found) > 0:
		before.MandateID, before.Fault, before.CheckedAt = m.MandateID, found[0], b.now
		if !followed {
			before.CheckedAt = time.Time{}
		}
		k = before
	case b.cut == m.MandateID:
		k.Fault = before.Fault // unknown until all events are read
		b.unfinished = append(b.unfinished, m.MandateID)
	case followed && k.Seq == before.Seq && slices.Equal(k.Settled, before.Settled) && before.Fault == "" && b.now.Sub(before.CheckedAt) < recheckAfter:
		return // nothing new
	}
	b.checked = append(b.checked, k)
}

// withAdded returns the checked windows with those of limits that the person has added since
// the last check. What they use counts charges that were checked before, so it is accepted as
// it is stored, once all events are read. A mandate that was never found sound has no checked
// windows, and its events are all counted.
func (b *batch) withAdded(settled, before []Window, m Counter) []Window {
	if len(before) == 0 {
		return settled
	}
	held := b.withHeld(m.MandateID, emptied(m.Windows))
	known := func(w Window) bool {
		return slices.ContainsFunc(before, func(c Window) bool { return c.Kind == w.Kind })
	}
	if b.cut == m.MandateID {
		return slices.DeleteFunc(settled, func(w Window) bool { return !known(w) })
	}
	for i, w := range m.Windows { // settled has the same windows
		if !known(w) {
			settled[i].Used = max(w.Used-held[i].Used, 0)
		}
	}
	return settled
}

// baseline accepts a mandate's stored spending.
func (b *batch) baseline(m Counter) MandateCheck {
	held := b.withHeld(m.MandateID, emptied(m.Windows))
	settled := slices.Clone(m.Windows)
	for i := range settled {
		if settled[i].Used -= held[i].Used; settled[i].Used < 0 || !m.Windows[i].sound() {
			b.used(m, held)
		}
	}
	return MandateCheck{
		MandateID: m.MandateID, Seq: m.EventSeq, Settled: settled, Revoked: m.Status == MandateRevoked, CheckedAt: b.now,
	}
}

// current returns the checked windows as of the periods of stored ones: those of another
// period are empty.
func current(checked, stored []Window) []Window {
	now := emptied(stored)
	for i, w := range now {
		for _, c := range checked {
			if c.Kind == w.Kind && c.Start == w.Start {
				now[i].Used = c.Used
			}
		}
	}
	return now
}

// withHeld returns windows with what a mandate's pending and authorized charges hold added.
func (b *batch) withHeld(mandateID string, all []Window) []Window {
	all = slices.Clone(all)
	for _, h := range b.held[mandateID] {
		count(all, h.Day, h.Amount, h.Count)
	}
	return all
}

// deleted reports whether retention may have deleted unchecked events: the last check is
// older than the horizon, and the event after it is missing.
func (b *batch) deleted(known MandateCheck, m Counter, events []Event) bool {
	if known.Seq == m.EventSeq || !known.CheckedAt.Before(b.horizon) {
		return false
	}
	next := known.Seq + 1
	for _, e := range events {
		if e.Seq != next && (next == known.Seq+1 || e.CreatedAt.Before(b.horizon)) {
			return true
		}
		next = e.Seq + 1
	}
	return len(events) == 0
}

// follow adds events and checks their charges.
func (b *batch) follow(k *MandateCheck, events []Event) {
	for _, e := range events {
		if e.Seq != k.Seq+1 {
			b.fault("mandate %s: event %d follows event %d", e.MandateID, e.Seq, k.Seq)
		}
		if (e.Seq == 1) != (e.Type == webhook.MandateCreated) {
			b.fault("mandate %s: event %d is %s", e.MandateID, e.Seq, e.Type)
		}
		k.Seq = e.Seq
		switch {
		case e.Type == webhook.MandateRevoked:
			k.Revoked = true
		case isPayment(e):
			b.payment(k, e)
		case e.Type == webhook.PaymentRefunded:
			b.refund(k, e)
		}
	}
}

// payment checks the charge of an event and adds it.
func (b *batch) payment(k *MandateCheck, e Event) {
	c, found := b.charges[chargeOf(e)]
	switch {
	case !found:
		b.fault("event %s: there is no charge %q", e.ID, chargeOf(e))
		return
	case c.MandateID != e.MandateID, c.Status != decided[e.Type]:
		b.fault("event %s: %s, but charge %s of mandate %s is %s", e.ID, e.Type, c.ID, c.MandateID, c.Status)
		return
	}
	b.count(c, b.postings[c.ID])
	if c.Paid() {
		count(k.Settled, c.Day, c.Amount, 1)
	}
}

// compare compares a mandate with its events and charges, if all were read.
func (b *batch) compare(k MandateCheck, m Counter) {
	if b.cut == m.MandateID {
		return
	}
	if k.Seq != m.EventSeq {
		b.fault("mandate %s: its last event is %d, it counts %d", m.MandateID, k.Seq, m.EventSeq)
	}
	if k.Revoked != (m.Status == MandateRevoked) {
		b.fault("mandate %s is %s, and its events say otherwise", m.MandateID, m.Status)
	}
	b.used(m, b.withHeld(m.MandateID, k.Settled))
}
