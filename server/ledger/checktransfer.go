package ledger

import (
	"encoding/json"
	"hash/maphash"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/webhook"
)

// isTransfer reports whether the owner of an event is a signed transfer or its refund; see
// transferOwner.
func isTransfer(owner string) bool { return strings.HasPrefix(owner, transferEvents) }

// transfer checks the events of a direct charge or of its refund. It stores a result only
// if there is a fault, or was one.
func (b *batch) transfer(owner string) {
	faults := len(b.Faults)
	for i, e := range b.events[owner] {
		if e.Seq != int64(i)+1 {
			b.fault("transfer %s: event %d is number %d", owner, i+1, e.Seq)
		}
		b.transferEvent(e)
	}
	k := MandateCheck{MandateID: owner, CheckedAt: b.now, Settled: []Window{}}
	if found := b.Faults[faults:]; len(found) > 0 {
		k.Fault = found[0]
	}
	if k.Fault != "" || b.known[owner].Fault != "" {
		b.checked = append(b.checked, k)
	}
}

// transferEvent checks the charge of an event.
func (b *batch) transferEvent(e Event) {
	c, found := b.charges[chargeOf(e)]
	switch {
	case !isPayment(e) && !isRefund(e): // a reversal, or a refund that failed
		return
	case !found || !c.Direct():
		b.fault("event %s: there is no charge %q of a signed transfer", e.ID, chargeOf(e))
		return
	case isPayment(e) && (e.MandateID != transferEvents+c.ID || c.Status != decided[e.Type]):
		b.fault("event %s: %s, but charge %s is %s", e.ID, e.Type, c.ID, c.Status)
		return
	}
	var data webhook.Payment
	if isRefund(e) && (json.Unmarshal([]byte(e.Data), &data) != nil || data.Refund == nil || e.MandateID != transferEvents+data.Refund.ID) {
		b.fault("event %s: there is no refund of charge %s", e.ID, c.ID)
	}
	b.count(c, b.postings[c.ID])
}

// transferEventsCheck compares the ended direct charges with their first events: it adds up
// a hash of each, so that it needs no memory for them. Charges from before the horizon may
// have lost their events.
type transferEventsCheck struct {
	seed            maphash.Seed
	first           string // the first id since the horizon
	charges, events uint64
}

func newTransferEventsCheck(horizon time.Time) transferEventsCheck {
	if horizon.Before(time.UnixMilli(0)) {
		horizon = time.UnixMilli(0)
	}
	return transferEventsCheck{seed: maphash.MakeSeed(), first: id.First(id.Charge, horizon)}
}

func (t *transferEventsCheck) charge(c Charge) {
	if c.ID >= t.first && (c.Status == ChargeSucceeded || c.Status == ChargeFailed) {
		t.charges += maphash.String(t.seed, c.ID)
	}
}

func (t *transferEventsCheck) event(e Event) {
	if chargeID := strings.TrimPrefix(e.MandateID, transferEvents); e.Seq == 1 && isPayment(e) && chargeID >= t.first {
		t.events += maphash.String(t.seed, chargeID)
	}
}

func (t *transferEventsCheck) agrees() bool { return t.charges == t.events }
