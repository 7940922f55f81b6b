package events

import (
	"context"
	"math"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// passEvery is how soon after another one a pass begins at the earliest; passShare how
// many times as long it waits as that took, and passMost how long at most: a pass reads
// all that an endpoint has failed to take, which others would notice where that is much.
const (
	passEvery, passMost = idleTick, 5 * time.Second
	passShare           = 200
)

// pass is a way through the stored deliveries that are due.
type pass struct {
	from  ledger.LaneKey // where it is
	more  bool           // it has not ended, or is to begin
	again bool           // another one is due after it
	found bool           // something
	next  time.Time      // real time: none begins before
}

// begin has what was stored by now be found, by another pass where one is under way.
func (p *pass) begin() { p.more, p.again = true, p.again || p.more && p.from != (ledger.LaneKey{}) }

// recall reads the next stored deliveries that are due, where there is room.
func (q *queue) recall(ctx context.Context) {
	if !q.stored.more {
		return
	}
	window := q.window()
	if len(q.busy) > window/2 {
		return
	}
	began := time.Now()
	if q.stored.from == (ledger.LaneKey{}) {
		if began.Before(q.stored.next) {
			return
		}
		q.stored.next = began.Add(passEvery)
	}
	now := q.Clock.Now()
	due, err := q.Store.DueDeliveries(ctx, q.endpoint.ID, q.stored.from, now, window)
	if err != nil {
		q.failed(ctx, "list due deliveries", err)
		return
	}
	q.stored.next = q.stored.next.Add(passShare * time.Since(began))
	if latest := time.Now().Add(passMost); q.stored.next.After(latest) { // also after many pages
		q.stored.next = latest
	}
	q.stored.found = q.stored.found || len(due) > 0
	for _, d := range due {
		if len(q.busy) >= window {
			return // from is the last that was taken
		}
		at := ledger.LaneKey{Lane: d.Lane, Seq: d.Seq}
		if !at.After(q.stored.from) {
			continue // its lane was left
		}
		q.stored.from = at
		if q.saving.lanes[d.Lane] > 0 {
			q.leave(d.Lane)
			continue
		}
		if q.busy[at] > 0 {
			continue
		}
		q.busy[at]++
		q.tails[d.Lane] = d.Seq
		delete(q.waiting, d.Lane)
		q.enqueue(&item{DueDelivery: d})
	}
	if len(due) < window {
		none := !q.stored.found && len(q.busy) == 0
		q.stored = pass{more: q.stored.again, next: q.stored.next}
		q.schedule(ctx, now)
		q.holding = q.holding && !(none && q.retry.IsZero())
	}
}

// schedule finds out when stored deliveries are due again, after a pass at a time.
func (q *queue) schedule(ctx context.Context, at time.Time) {
	next, err := q.Store.NextRetry(ctx, q.endpoint.ID)
	if err != nil {
		q.failed(ctx, "read next retry", err)
	}
	if soon := at.Add(idleTick); err != nil || !next.IsZero() && next.Before(soon) {
		next = soon // retries that are due one after the other share a pass
	}
	q.retry = next
}

// leave has the pass go past the rest of a lane whose first delivery waits for its
// retry, or is still to be saved: a pass that went on in it later would send the rest
// before that one. Another pass takes all of them.
func (q *queue) leave(lane string) {
	if q.stored.from.Lane == lane {
		q.stored.from.Seq = math.MaxInt64
	}
}
