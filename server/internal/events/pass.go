package events

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// passEvery is how soon after another one a pass begins at the earliest.
	passEvery = idleTick
	// lanePage is how many lanes are found at once, laneRows how many deliveries of
	// one are read at once.
	lanePage, laneRows = 256, 64
)

// pass is the way to the stored deliveries that may be made. Which lanes they are in
// is looked for in all that is stored where others may have stored something: at the
// beginning, and when something is to be made again. Else it is known: from those
// whose retry is due, and from what this queue has stored itself.
type pass struct {
	all   bool            // the lanes of all that is stored are to be looked for
	again bool            // and once more
	from  string          // the last that was found
	next  time.Time       // real time: none is looked for before
	lanes []string        // to be read
	loose map[string]bool // lanes with deliveries that nothing else waits for or sees to
}

func newPass() pass { return pass{all: true, loose: map[string]bool{}} }

// begin has what was stored by now be found, by another way where one is under way.
func (p *pass) begin() { p.all, p.again = true, p.again || p.all && p.from != "" }

// more tells whether there is something to look for or to read.
func (p *pass) more() bool { return p.all || len(p.lanes) > 0 || len(p.loose) > 0 }

// recall reads stored deliveries that may be made, where there is room.
func (q *queue) recall(ctx context.Context) {
	p := &q.stored
	if len(p.lanes) == 0 {
		if err := q.look(ctx); err != nil {
			q.failed(ctx, "look for stored deliveries", err)
			return
		}
	}
	for window := q.window(); len(p.lanes) > 0 && len(q.busy) <= window/2; p.lanes = p.lanes[1:] {
		if err := q.fetch(ctx, p.lanes[0]); err != nil {
			q.failed(ctx, "read stored deliveries", err)
			return
		}
	}
}

// look finds lanes to be read.
func (q *queue) look(ctx context.Context) (err error) {
	p, now := &q.stored, q.Clock()
	switch {
	case p.all && !time.Now().Before(p.next):
		if p.lanes, err = q.Store.DueLanes(ctx, q.endpoint.ID, p.from, now, lanePage); err != nil {
			return err
		}
		if len(p.lanes) == lanePage {
			p.from = p.lanes[lanePage-1]
			break
		}
		p.all, p.again, p.from, p.next = p.again, false, "", time.Now().Add(passEvery)
		err = q.schedule(ctx, now)
	case !q.retry.IsZero() && !now.Before(q.retry):
		if p.lanes, err = q.Store.RetryLanes(ctx, q.endpoint.ID, now, lanePage); err == nil {
			err = q.schedule(ctx, now)
		}
	}
	for lane := range p.loose {
		if len(q.lanes[lane]) == 0 && q.saving.lanes[lane] == 0 {
			p.lanes = append(p.lanes, lane)
			delete(p.loose, lane)
		}
	}
	return err
}

// schedule finds out when stored deliveries are due again, after those that are due
// at a time were found.
func (q *queue) schedule(ctx context.Context, at time.Time) error {
	next, err := q.Store.NextRetry(ctx, q.endpoint.ID)
	if soon := at.Add(idleTick); err != nil || !next.IsZero() && next.Before(soon) {
		next = soon // those that are due one after the other are looked for together
	}
	q.retry = next
	return err
}

// holding tells whether there may be stored deliveries that others of their mandate
// wait for.
func (q *queue) holding() bool { return !q.retry.IsZero() || q.stored.more() || len(q.busy) > 0 }

// fetch reads what is stored of a lane, unless its first delivery waits for its retry.
// Of a lane that is in memory, or of which something is to be saved, nothing is read:
// it would be out of order.
func (q *queue) fetch(ctx context.Context, lane string) error {
	delete(q.waiting, lane)
	if len(q.lanes[lane]) > 0 || q.saving.lanes[lane] > 0 {
		return nil
	}
	after := ledger.LaneKey{Lane: lane, Seq: -1}
	if tail, known := q.tails[lane]; known {
		after.Seq = tail
	}
	list, err := q.Store.LaneDeliveries(ctx, q.endpoint.ID, after, laneRows)
	if err != nil {
		return err
	}
	if len(list) > 0 && q.Clock().Before(list[0].Next) {
		q.waiting[lane] = true
		return nil
	}
	for _, d := range list {
		at := ledger.LaneKey{Lane: lane, Seq: d.Seq}
		if q.busy[at] > 0 {
			continue
		}
		q.busy[at]++
		q.tails[lane] = d.Seq
		q.enqueue(&item{DueDelivery: d})
	}
	if len(list) == laneRows {
		q.stored.loose[lane] = true
	}
	return nil
}
