package ledger

import (
	"context"
	"maps"
	"slices"
)

// drawSums are the sums of a tab's draws.
type drawSums struct {
	number int64
	amount Micros
	status map[ChargeStatus]int64 // their number in each state
}

func (s drawSums) with(c Charge) drawSums {
	if s.status == nil {
		s.status = map[ChargeStatus]int64{}
	}
	s.number, s.amount = s.number+1, s.amount+c.Amount
	s.status[c.Status]++
	return s
}

// allTabs compares the tabs with their draws, and adds up what is owed.
func (k *check) allTabs(ctx context.Context) error {
	current := map[TallyKey]string{}
	err := k.Audit.Tabs(ctx, func(t Tab) error {
		k.Report.Tabs++
		k.tab(t)
		if other, two := current[t.Key()]; two && t.Current() {
			k.fault("tabs %s and %s are open at the same time", other, t.ID)
		}
		if t.Current() {
			current[t.Key()] = t.ID
		}
		return nil
	})
	for _, id := range slices.Sorted(maps.Keys(k.draws)) {
		k.fault("tab %s of %d draws is missing", id, k.draws[id].number)
	}
	for _, id := range slices.Sorted(maps.Keys(k.advances)) {
		k.fault("postings of tab %s: there is no such tab", id)
	}
	return err
}

// tab checks one tab: the sum of its draws, their states, what was captured, and its posting.
func (k *check) tab(t Tab) {
	draws, posted := k.draws[t.ID], k.advances[t.ID]
	delete(k.draws, t.ID)
	delete(k.advances, t.ID)
	k.Postings += len(posted)
	if draws.number != t.Draws || draws.amount != t.Drawn {
		k.fault("tab %s: says %d draws of %d micros, its charges say %d of %d", t.ID, t.Draws, t.Drawn, draws.number, draws.amount)
	}
	decided := map[TabOutcome]ChargeStatus{TabCaptured: ChargeSucceeded, TabVoided: ChargeWrittenOff, TabRefused: ChargeFailed}[t.Outcome]
	for status, n := range draws.status {
		waits := status == ChargeAuthorized && t.State != TabClosed && t.State != TabOpening
		if !waits && (decided == "" || status != decided) {
			k.fault("tab %s is %s %s: %d of its draws are %s", t.ID, t.State, t.Outcome, n, status)
		}
	}
	if !t.sound() || (t.Outcome == TabCaptured) != (t.Capture > 0 && t.Outcome != "" && t.Outcome != TabRefused) {
		k.fault("tab %s of %d micros: owes %d, has drawn %d, has counted %d, and %s %d", t.ID, t.Block, t.Owed, t.Drawn, t.Counted, t.Outcome, t.Capture)
	}
	owed := t.Counted - t.Owed
	var want []Posting
	if t.Outcome != "" {
		owed += t.advance()
		want = t.postings(t.CreatedAt)
		k.Advanced += owed
	}
	if !slices.EqualFunc(want, posted, samePosting) {
		k.fault("tab %s: its posting does not fit", t.ID)
	}
	if owed != 0 {
		k.owes(t.Key(), owed)
	}
}

// owes adds to what a payer owes the operator for its tabs at a payee.
func (k *check) owes(key TallyKey, owed Micros) {
	tally := k.tallies[key]
	tally.TallyKey, tally.Owed = key, tally.Owed+owed
	k.tallies[key] = tally
}
