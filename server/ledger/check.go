package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/paywarrant/paywarrant/webhook"
)

// Report is what a check of the whole ledger found.
type Report struct {
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

// MaxFaults is how many faults a report lists.
const MaxFaults = 100

// Check recomputes every counter and total from the charges and their postings,
// in one snapshot, and reports what does not agree. The error tells that the
// store could not be read.
func Check(ctx context.Context, store Reader) (Report, error) {
	var r Report
	err := store.Histories(ctx, func(h History) error {
		r.history(h)
		return nil
	})
	if err != nil {
		return Report{}, fmt.Errorf("read histories: %w", err)
	}
	return r, nil
}

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < MaxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

func (r *Report) history(h History) {
	r.Mandates++
	r.Charges += len(h.Charges)
	r.Postings += len(h.Postings)
	posted := map[string][]Posting{}
	for _, p := range h.Postings {
		posted[p.ChargeID] = append(posted[p.ChargeID], p)
	}
	var spent Micros
	tallies := map[TallyKey]Tally{}
	for _, c := range h.Charges {
		r.charge(c, posted[c.ID])
		delete(posted, c.ID)
		if c.Status == ChargeSucceeded {
			key := TallyKey{MandateID: c.MandateID, MerchantID: c.MerchantID}
			t := tallies[key]
			tallies[key] = Tally{TallyKey: key, Count: t.Count + 1, Volume: t.Volume + c.Amount}
		}
		if c.Status != ChargeFailed && c.Month == h.Mandate.Month {
			spent += c.Amount
		}
	}
	for chargeID := range posted {
		r.fault("postings of charge %s: there is no such charge", chargeID)
	}
	if m := h.Mandate; m.Spent != spent || spent > m.Terms.MaxMonthly {
		r.fault("mandate %s: counter says %d micros of %d in %s, charges say %d", m.ID, m.Spent, m.Terms.MaxMonthly, m.Month, spent)
	}
	for _, t := range h.Tallies {
		if tallies[t.TallyKey] != t {
			r.fault("tally of %s at %s: says %d charges of %d micros, charges say %d of %d", t.MerchantID, t.MandateID,
				t.Count, t.Volume, tallies[t.TallyKey].Count, tallies[t.TallyKey].Volume)
		}
		delete(tallies, t.TallyKey)
	}
	for key := range tallies {
		r.fault("tally of %s at %s is missing", key.MerchantID, key.MandateID)
	}
	r.events(h)
}

// charge checks that a charge has exactly the postings of its state.
func (r *Report) charge(c Charge, got []Posting) {
	var want []Posting
	switch c.Status {
	case ChargeSucceeded:
		r.Succeeded++
		r.Volume += c.Amount
		want = postings(c, c.CreatedAt)
	case ChargeFailed:
		r.Failed++
	case ChargePending:
		r.Pending++
	default:
		r.fault("charge %s: unknown status %q", c.ID, c.Status)
	}
	slices.SortFunc(got, func(a, b Posting) int { return a.N - b.N })
	if !slices.EqualFunc(want, got, samePosting) {
		r.fault("charge %s (%s): postings do not fit", c.ID, c.Status)
	}
	if c.Status == ChargeSucceeded && c.Fee != Fee(c.Rail, c.Amount) {
		r.fault("charge %s: fee is %d micros, should be %d", c.ID, c.Fee, Fee(c.Rail, c.Amount))
	}
}

func samePosting(a, b Posting) bool {
	return a.N == b.N && a.From == b.From && a.To == b.To && a.Amount == b.Amount && a.MandateID == b.MandateID
}

// events checks that the outbox tells of each change once, without a gap.
func (r *Report) events(h History) {
	want := 1 // delegate.created
	if h.Mandate.Status == MandateRevoked {
		want++
	}
	for _, c := range h.Charges {
		if c.Status != ChargePending {
			want++
		}
	}
	if h.Mandate.EventSeq != int64(want) || len(h.Events) > want {
		r.fault("mandate %s: %d events told of, %d kept, %d changes", h.Mandate.ID, h.Mandate.EventSeq, len(h.Events), want)
	}
	for i, e := range h.Events {
		if i > 0 && e.Seq != h.Events[i-1].Seq+1 {
			r.fault("mandate %s: event %d follows event %d", h.Mandate.ID, e.Seq, h.Events[i-1].Seq)
		}
		if i == 0 && e.Seq == 1 && e.Type != webhook.DelegateCreated {
			r.fault("mandate %s: its first event is %s", h.Mandate.ID, e.Type)
		}
	}
}
