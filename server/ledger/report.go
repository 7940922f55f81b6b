package ledger

import (
	"fmt"
	"slices"
)

// Report is the result of a check.
type Report struct {
	// Mandates is the number of mandates read; by an incremental check, of those that
	// changed. The same holds for the other counts.
	Mandates int
	// Charges is the number of charges.
	Charges int
	// Postings is the number of postings.
	Postings int
	// Succeeded is the number of charges that succeeded.
	Succeeded int
	// Failed is the number of charges that failed.
	Failed int
	// Pending is the number of pending charges.
	Pending int
	// Authorized is the number of authorized charges.
	Authorized int
	// Voided is the number of voided charges.
	Voided int
	// WrittenOff is the number of charges that the operator paid.
	WrittenOff int
	// Volume is the sum of the charges that succeeded or were written off.
	Volume Micros
	// Tabs is the number of tabs.
	Tabs int
	// Advanced is what the operator has advanced for tabs and not got back: the part of Volume
	// that no card has paid.
	Advanced Micros
	// InSessions is the payers' money in session accounts that no pending purchase has. Only
	// a full check has it.
	InSessions Micros
	// Faults describes the broken rules, at most [MaxFaults]. Empty if the ledger is sound.
	Faults []string
}

// MaxFaults limits the faults in a report.
const MaxFaults = 100

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < MaxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// count counts a charge and checks its postings.
func (r *Report) count(c Charge, got []Posting) {
	if c.MandateID == "" {
		r.fault("postings of charge %s: there is no such charge", c.ID)
		return
	}
	r.Charges++
	r.Postings += len(got)
	switch c.Status {
	case ChargeSucceeded:
		r.Succeeded++
		r.Volume += c.Amount
	case ChargeWrittenOff:
		r.WrittenOff++
		r.Volume += c.Amount
	case ChargeFailed:
		r.Failed++
	case ChargePending:
		r.Pending++
	case ChargeAuthorized:
		r.Authorized++
	case ChargeVoided:
		r.Voided++
	default:
		r.fault("charge %s: unknown status %q", c.ID, c.Status)
	}
	r.posted(c, got)
}

// posted checks that a charge has exactly the postings of its state.
func (r *Report) posted(c Charge, got []Posting) {
	if c.Source == SourceSeller {
		r.purchased(c, got)
		return
	}
	var want []Posting
	if c.Paid() {
		want = postings(c, c.CreatedAt)
	}
	if c.Refunded > 0 && len(got) > len(want) {
		r.refunds(c, got[len(want):])
		got = got[:len(want)]
	} else if c.Refunded > 0 {
		r.fault("charge %s: refunded %d micros, and there are no postings of that", c.ID, c.Refunded)
	}
	if !slices.EqualFunc(want, got, samePosting) {
		r.fault("charge %s (%s): postings do not fit", c.ID, c.Status)
	}
	if c.Paid() && c.Fee != c.fee() {
		r.fault("charge %s: fee is %d micros, should be %d", c.ID, c.Fee, c.fee())
	}
}

// refunds checks that the postings of a charge's refunds move what was refunded from the payee
// to the payer, or to the operator.
func (r *Report) refunds(c Charge, got []Posting) {
	var sum Micros
	for i := 0; i+1 < len(got); i += 2 {
		want := Refund{ChargeID: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, Rail: railOf(c, got[i+1]), Amount: got[i].Amount, N: (got[i].N-FirstRefundPosting)/2 + 1}
		if !slices.EqualFunc(want.postings(got[i].At), got[i:i+2], samePosting) {
			r.fault("charge %s: postings of a refund do not fit", c.ID)
		}
		sum += got[i].Amount
	}
	if sum != c.Refunded || len(got)%2 != 0 {
		r.fault("charge %s: refunded %d micros, postings say %d", c.ID, c.Refunded, sum)
	}
}

func samePosting(a, b Posting) bool {
	return a.N == b.N && a.From == b.From && a.To == b.To && a.Amount == b.Amount && a.MandateID == b.MandateID
}

// used compares a mandate's windows with what its charges say.
func (r *Report) used(m Counter, charges []Window) {
	for i, w := range m.Windows {
		if w.Used != charges[i].Used || !w.sound() {
			r.fault("mandate %s: its %s window says %d of %d since %d, charges say %d", m.MandateID, w.Kind, w.Used, w.Cap, w.Start, charges[i].Used)
		}
	}
}
