package events

import (
	"context"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// stuck is how long an event may keep its endpoint's place back, before it is stored
// and the place goes past it; in real time.
const stuck = time.Second

// item is a delivery in memory. One of the stream's is bound to its place there until
// it is taken or stored: then it is like one that was read from the store.
type item struct {
	ledger.DueDelivery

	bound bool
	away  bool      // it is on its way, or next on a way
	since time.Time // it was read from the stream; real time
}

// key is the place of a stored delivery.
func (d *item) key() ledger.LaneKey { return ledger.LaneKey{Lane: d.Lane, Seq: d.Seq} }

// stream is how far an endpoint has come in its merchant's stream.
type stream struct {
	more  bool  // there is more than was read
	read  int64 // the last place that was read
	place int64 // nothing is left up to here that is not stored
	steps []*item
}

// forward moves the place as far as it can go.
func (s *stream) forward() {
	for len(s.steps) > 0 && !s.steps[0].bound {
		s.place, s.steps = s.steps[0].Event.Place, s.steps[1:]
	}
	if len(s.steps) == 0 {
		s.place = s.read
	}
}

// follow reads the next events of the stream, where there is room.
func (q *queue) follow(ctx context.Context) {
	s := &q.stream
	s.forward()
	if !s.more {
		return
	}
	window := q.window()
	page := max(window/4, minPage)
	if len(s.steps) > window-page || len(q.busy) > window {
		return
	}
	list, full := q.feed.after(s.read, page), false
	if len(list) == 0 {
		var err error
		if list, err = q.Store.StreamEvents(ctx, q.endpoint.MerchantID, s.read, page); err != nil {
			q.failed(ctx, "read stream of events", err)
			return
		}
		full = len(list) == page
	}
	held, err := q.held(ctx, list)
	if err != nil {
		q.failed(ctx, "read lanes that are held back", err)
		return
	}
	now := time.Now()
	for _, e := range list {
		s.read = e.Place
		if !q.endpoint.Wants(e.Type) {
			continue
		}
		d := &item{bound: true, since: now, DueDelivery: ledger.DueDelivery{Event: e, Delivery: ledger.Delivery{
			EndpointID: q.endpoint.ID, EventID: e.ID, Lane: e.MandateID, Seq: e.Seq, Status: ledger.DeliveryPending,
			CreatedAt: q.Clock(),
		}}}
		last, waits := held[d.Lane]
		if tail, known := q.tails[d.Lane]; q.waiting[d.Lane] || q.saving.lanes[d.Lane] > 0 || waits && (!known || last > tail) {
			q.store(d.Delivery)
			continue
		}
		s.steps = append(s.steps, d)
		q.enqueue(d)
	}
	s.more = full || s.read < q.feed.end.Load()
	s.forward()
}

// held tells which lanes of events have stored deliveries that these wait for, and the
// sequence of the last, but for lanes that are known to wait.
func (q *queue) held(ctx context.Context, events []ledger.Event) (map[string]int64, error) {
	if !q.holding() || len(events) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	var lanes []string
	for _, e := range events {
		if !q.waiting[e.MandateID] {
			lanes = append(lanes, e.MandateID)
		}
	}
	if len(lanes) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	slices.Sort(lanes)
	return q.Store.HeldLanes(ctx, q.endpoint.ID, slices.Compact(lanes))
}

// enter has an item of the stream stored as it is: the place may go past it.
func (q *queue) enter(d *item) {
	if d.bound {
		d.bound = false
		q.store(d.Delivery)
	}
}

// loosen has the place go past what has kept it back for long. All that is in memory
// of its lane is stored with it: what is read of the lane from then on is stored too,
// and nothing may be stored before what it has to wait for.
func (q *queue) loosen() {
	s := &q.stream
	if len(s.steps) < 2 || !s.steps[0].bound || time.Since(s.steps[0].since) < stuck {
		return
	}
	for _, d := range q.lanes[s.steps[0].Lane] {
		if d.bound {
			q.busy[d.key()]++
			q.enter(d)
		}
	}
	s.forward()
}

// rewind forgets what was read of the stream behind all that was taken or is on its
// way. What is left before that is stored, also what is on its way: others of its
// mandate are.
func (q *queue) rewind() {
	s := &q.stream
	last := len(s.steps)
	for last > 0 && s.steps[last-1].bound && !s.steps[last-1].away {
		last--
	}
	if last < len(s.steps) {
		s.more, s.read = true, s.place
	}
	for _, d := range s.steps[:last] {
		if d.bound && d.away {
			q.busy[d.key()]++
		}
		q.enter(d)
		s.read = max(s.read, d.Event.Place)
	}
	s.steps = nil
	s.forward()
}
