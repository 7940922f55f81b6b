package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// windowSize is how many events of the stream one worker has in memory, streamPage
	// how many it reads at once.
	windowSize, streamPage = 256, 64
	// stuckAfter is how long a delivery in flight may keep a full window waiting.
	stuckAfter = time.Second
	// saveRows is how many deliveries one transaction stores, since charges wait for it.
	saveRows = 8
)

// stream is what a worker has read of its merchant's stream.
type stream struct {
	window []*item // the events that the offset has not passed, in order
	more   bool    // there may be more to read
}

// readStream reads the next events of the stream, if there is room for them.
func (w *worker) readStream(ctx context.Context) error {
	if len(w.stream.window) > windowSize-streamPage {
		return w.loosen(ctx)
	}
	if !w.stream.more {
		return nil
	}
	events, err := w.Store.StreamEvents(ctx, w.endpoint.MerchantID, w.read.Load(), streamPage)
	if err != nil {
		return fmt.Errorf("read stream of events: %w", err)
	}
	held, err := w.held(ctx, events)
	if err != nil {
		return err
	}
	var items []*item
	var behind []store.Delivery
	for _, e := range events {
		if !w.endpoint.Wants(e.Type) {
			continue
		}
		d := &item{done: slices.Contains(held, e.MandateID), DueDelivery: store.DueDelivery{Event: e, Delivery: store.Delivery{
			EndpointID: w.endpoint.ID, EventID: e.ID, Lane: e.MandateID, Seq: e.Seq, Status: store.DeliveryPending,
			CreatedAt: w.Clock(),
		}}}
		if items = append(items, d); d.done {
			behind = append(behind, d.Delivery)
		}
	}
	if err := w.store(ctx, behind); err != nil {
		return err
	}
	for _, d := range items {
		if !d.done {
			w.enqueue(d)
		}
	}
	w.stream.window = append(w.stream.window, items...)
	if w.stream.more = len(events) == streamPage; len(events) > 0 {
		w.read.Store(events[len(events)-1].StreamOffset)
	}
	w.pass()
	return nil
}

// enqueue puts an event of the stream behind the others of its lane.
func (w *worker) enqueue(d *item) {
	l := w.lanes[d.Lane]
	if l == nil {
		l = &lane{id: d.Lane}
		w.lanes[d.Lane], w.ready = l, append(w.ready, l)
	}
	l.items = append(l.items, d)
}

// held returns the lanes of events that have pending stored deliveries. A lane in memory
// that is not stored has none.
func (w *worker) held(ctx context.Context, events []ledger.Event) ([]string, error) {
	if len(events) == 0 || !w.stored.any() {
		return nil, nil
	}
	lanes := make([]string, len(events))
	for i, e := range events {
		lanes[i] = e.MandateID
	}
	slices.Sort(lanes)
	held, err := w.Store.HeldLanes(ctx, w.endpoint.ID, slices.Compact(lanes))
	if err != nil {
		return nil, fmt.Errorf("read lanes that are held: %w", err)
	}
	return held, nil
}

// pass moves the offset past what is done at the front of the window.
func (w *worker) pass() {
	s := &w.stream
	for len(s.window) > 0 && s.window[0].done {
		s.window = s.window[1:]
	}
	if w.state.Offset = w.read.Load(); len(s.window) > 0 {
		w.state.Offset = s.window[0].Event.StreamOffset - 1
	}
}

// loosen stores the lane that keeps a full window waiting, if its first delivery hangs.
func (w *worker) loosen(ctx context.Context) error {
	l := w.lanes[w.stream.window[0].Lane]
	if l.sentAt.IsZero() || time.Since(l.sentAt) < stuckAfter {
		return nil
	}
	l.stored = true
	w.stored.loaded++
	return w.storeItems(ctx, l.items)
}

// checkpoint stores what the offset waits for, up to the last that is done. The rest is
// read again.
func (w *worker) checkpoint(ctx context.Context) error {
	last := len(w.stream.window)
	for last > 0 && !w.stream.window[last-1].done {
		last--
	}
	return w.storeItems(ctx, w.stream.window[:last])
}

// storeItems stores deliveries of the stream as they are, and passes them.
func (w *worker) storeItems(ctx context.Context, items []*item) error {
	var rows []store.Delivery
	for _, d := range items {
		if !d.done {
			rows = append(rows, d.Delivery)
			d.done = true
		}
	}
	err := w.store(ctx, rows)
	if err == nil {
		w.pass()
	}
	return err
}

// store stores deliveries. Those of a lane are given in order.
func (w *worker) store(ctx context.Context, rows []store.Delivery) error {
	for some := range slices.Chunk(rows, saveRows) {
		failpoint.Hit(failpoint.DeliveriesSaving)
		if err := w.Store.SaveDeliveries(ctx, w.owner, some); err != nil {
			return fmt.Errorf("save deliveries: %w", err)
		}
		failpoint.Hit(failpoint.DeliveriesSaved)
	}
	return nil
}
