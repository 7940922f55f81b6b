package events

import "github.com/paywarrant/paywarrant/server/ledger"

// saving is what of a queue is on its way to the store.
type saving struct {
	rows  []ledger.Delivery // to be handed to the writer
	lanes map[string]int    // rows not saved yet that others of their lane wait for
	state ledger.EndpointState
	nth   int // progress that was made
	known int // progress that is saved
}

// store has a delivery stored as it stands now.
func (q *queue) store(d ledger.Delivery) {
	q.saving.rows = append(q.saving.rows, d)
	count(q.busy, ledger.LaneKey{Lane: d.Lane, Seq: d.Seq}, 1)
	if d.Status == ledger.DeliveryPending {
		count(q.saving.lanes, d.Lane, 1)
	}
}

// hand gives the writer what there is to save.
func (q *queue) hand() {
	q.stream.forward()
	state := ledger.EndpointState{
		EndpointID: q.endpoint.ID, Place: q.stream.place, FailingSince: q.health.failingSince, Failures: q.health.failures,
		PausedUntil: q.health.pausedUntil,
	}
	if len(q.saving.rows) == 0 && state == q.saving.state {
		return
	}
	q.saving.nth++
	q.mu.Lock()
	listed := q.pending.of != nil
	q.pending = progress{of: q, rows: append(q.pending.rows, q.saving.rows...), state: state, nth: q.saving.nth}
	q.mu.Unlock()
	q.saving.rows, q.saving.state = nil, state
	if !listed {
		q.out.add(q)
	}
}

// collect is what the writer takes: so many deliveries at most. It tells whether
// there are more; the place is behind all of them.
func (q *queue) collect(most int) (p progress, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, more = q.pending, len(q.pending.rows) > most
	if !more {
		q.pending = progress{}
		return p, more
	}
	q.pending.rows = p.rows[most:]
	p.rows, p.state.Place, p.nth = p.rows[:most:most], 0, 0
	return p, more
}

// acknowledge tells that progress is saved.
func (q *queue) acknowledge(p progress) {
	q.mu.Lock()
	q.saved = append(q.saved, p)
	q.mu.Unlock()
	signal(q.signal)
}

// acknowledged takes note of what is saved.
func (q *queue) acknowledged(p progress) {
	q.saving.known = max(q.saving.known, p.nth)
	for _, d := range p.rows {
		count(q.busy, ledger.LaneKey{Lane: d.Lane, Seq: d.Seq}, -1)
		switch {
		case d.Status != ledger.DeliveryPending:
			if q.tails[d.Lane] == d.Seq {
				delete(q.tails, d.Lane)
			}
			continue
		case d.Attempts > 0:
			if q.retry.IsZero() || d.Next.Before(q.retry) {
				q.retry = d.Next
			}
		case !q.waiting[d.Lane]: // it can be sent as soon as what is before it
			q.stored.loose[d.Lane] = true
		}
		count(q.saving.lanes, d.Lane, -1)
	}
}

// unsaved tells whether there is something that the store does not know yet.
func (q *queue) unsaved() bool { return q.saving.nth != q.saving.known || len(q.saving.rows) > 0 }

// count adds to a number that is kept while it is not zero.
func count[K comparable](in map[K]int, key K, n int) {
	if in[key] += n; in[key] == 0 {
		delete(in, key)
	}
}
