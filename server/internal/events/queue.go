package events

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// maxWindow is how many deliveries of one endpoint are in memory at most, until
	// what came of them is saved, where few are worked on; minWindow where many are,
	// which share maxHeld.
	maxWindow, minWindow, maxHeld = 1024, 64, 32 * 1024
	// maxFlying is how many are on their way to one endpoint at once; firstFlying
	// is where it begins before it is known what the endpoint can take.
	maxFlying, firstFlying = 32, 8
	// reread is how often the endpoint is read again while it is worked on, for
	// what another instance changed.
	reread = time.Second
	// idleTick is how often a queue looks that nobody signals.
	idleTick = 250 * time.Millisecond
	// linger is how long an endpoint with nothing to do is kept, unless many others
	// wait: giving it back and taking it again is written to the store each time,
	// which charges and other endpoints would wait for.
	linger = 2 * time.Second
)

// queue works on one endpoint while this instance has it on lease. Its state
// belongs to the goroutine that runs it; what others may touch is at the end.
type queue struct {
	*Service

	endpoint ledger.WebhookEndpoint
	address  *url.URL
	secrets  []string
	health   ledger.EndpointHealth
	readAt   time.Time // real time
	gone     bool      // disabled or deleted: nothing more is sent

	from  ledger.LaneKey // where the pass through the stored queue is
	more  bool           // the pass has not ended
	again bool           // another one is due after it
	// parked: nothing is loaded until what is on its way has come back.
	parked bool
	lanes  map[string][]ledger.DueDelivery
	ready  []string // lanes whose first delivery can be sent
	// busy are the deliveries in memory and their places, until what came of them is
	// saved; held are lanes with a failure that is not saved yet. skipped tells that
	// a pass left something out because of them: a redelivery of what is on its way
	// has a place of its own, and nothing else would bring it up again.
	busy    map[string]ledger.LaneKey
	held    map[string]bool
	skipped bool
	away    map[string]bool // on their way
	flying  int
	limit   int
	results chan result
	// refreshed are who waits for deliveries that were signed before a rotation.
	epoch, former int // flying ones of former epochs
	refreshed     []chan struct{}

	until  atomic.Int64 // of the lease, unix milliseconds
	lost   atomic.Bool
	signal chan struct{}

	idleSince time.Time // real time; zero: there is something to do
	retry     time.Time // the first one is due

	mu      sync.Mutex
	fresh   bool  // something was added to the stored queue
	wakeSeq int64 // as far as is known: of what was added
	saved   []ledger.Delivery
	refresh []chan struct{}
}

type result struct {
	delivery ledger.DueDelivery
	outcome  outcome
	epoch    int
	at       time.Time // of its beginning
}

func newQueue(s *Service, e ledger.WebhookEndpoint, until time.Time) *queue {
	q := &queue{
		Service: s, endpoint: e, more: true, lanes: map[string][]ledger.DueDelivery{}, busy: map[string]ledger.LaneKey{}, held: map[string]bool{}, away: map[string]bool{},
		limit: firstFlying, results: make(chan result, maxFlying), signal: make(chan struct{}, 1),
	}
	q.wakeSeq = e.WakeSeq
	q.until.Store(until.UnixMilli())
	q.health = ledger.EndpointHealth{EndpointID: e.ID, FailingSince: e.FailingSince, Failures: e.Failures, PausedUntil: e.PausedUntil}
	return q
}

// added tells that something is new in the stored queue.
func (q *queue) added() {
	q.mu.Lock()
	q.fresh = true
	q.mu.Unlock()
	signal(q.signal)
}

// known is the WakeSeq that was told of last.
func (q *queue) known() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wakeSeq
}

// addedNow tells that something is new, with which the endpoint has come to a WakeSeq.
func (q *queue) addedNow(wakeSeq int64) {
	q.mu.Lock()
	q.wakeSeq = wakeSeq
	q.mu.Unlock()
	q.added()
}

// acknowledge tells that outcomes are saved.
func (q *queue) acknowledge(saved []ledger.Delivery) {
	q.mu.Lock()
	q.saved = append(q.saved, saved...)
	q.mu.Unlock()
	signal(q.signal)
}

// run works until there is nothing to do now, and gives the endpoint back.
func (q *queue) run(ctx context.Context) {
	requests, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer func() { q.answerWaiters(true) }()
	if err := q.adopt(ctx, q.endpoint); err != nil {
		q.failed(ctx, "open signing secret", err)
		wait(ctx, time.Second) // the lease lapses
		return
	}
	timer := time.NewTicker(idleTick)
	defer timer.Stop()
	for {
		q.take(ctx)
		if ctx.Err() != nil || q.lost.Load() {
			q.end(ctx, stop)
			return
		}
		if q.paused() || q.gone {
			q.park()
		}
		q.load(ctx)
		q.launch(requests)
		if q.idle(ctx) {
			if q.release(ctx) {
				return
			}
			continue
		}
		select {
		case r := <-q.results:
			q.settle(ctx, r)
		case <-q.signal:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// take takes over what others told.
func (q *queue) take(ctx context.Context) {
	q.mu.Lock()
	saved, fresh, refresh, wakeSeq := q.saved, q.fresh, q.refresh, q.wakeSeq
	q.saved, q.fresh, q.refresh = nil, false, nil
	q.mu.Unlock()
	for _, d := range saved {
		delete(q.busy, d.EventID)
		if d.Status == ledger.DeliveryPending {
			delete(q.held, d.Lane)
			q.leave(d.Lane)
		}
	}
	found := fresh || q.skipped && len(saved) > 0
	q.again = q.again || found && q.more
	q.more, q.skipped = q.more || found, q.skipped && len(saved) == 0
	if fresh { // a pass over it is still to begin
		q.endpoint.WakeSeq = wakeSeq
	}
	q.parked = q.parked && q.flying > 0
	if len(refresh) > 0 || time.Since(q.readAt) > reread {
		q.read(ctx)
		q.refreshed = append(q.refreshed, refresh...)
		q.answerWaiters(false)
	}
}

// leave has the pass go past the rest of a lane whose first delivery waits for its
// retry: a pass that stood still in it until then would send the rest before that
// one. The pass for the retry takes all of them.
func (q *queue) leave(lane string) {
	if q.from.Lane == lane {
		q.from.Seq = math.MaxInt64
	}
}

// read reads the endpoint again.
func (q *queue) read(ctx context.Context) {
	e, err := q.Store.WebhookEndpoint(ctx, q.endpoint.ID)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		q.gone = true
	case err == nil:
		err = q.adopt(ctx, e)
	}
	if err != nil && !q.gone {
		q.failed(ctx, "read webhook endpoint", err)
	}
}

// adopt takes over an endpoint as it was read. WakeSeq is not: it says what had
// been added when the pass began.
func (q *queue) adopt(ctx context.Context, e ledger.WebhookEndpoint) error {
	secrets, err := q.open(ctx, e)
	if err != nil {
		return err
	}
	address, err := url.Parse(e.URL)
	if err != nil {
		return errors.New("the endpoint has no URL")
	}
	if len(q.secrets) > 0 && q.secrets[0] != secrets[0] {
		q.epoch, q.former = q.epoch+1, q.flying
	}
	e.WakeSeq = q.endpoint.WakeSeq
	q.endpoint, q.secrets, q.address, q.readAt, q.gone = e, secrets, address, time.Now(), e.Disabled != ""
	return nil
}

// answerWaiters tells those who wait for a rotation to be complete.
func (q *queue) answerWaiters(always bool) {
	if q.former > 0 && !always {
		return
	}
	q.mu.Lock()
	if always {
		q.refreshed, q.refresh = append(q.refreshed, q.refresh...), nil
	}
	q.mu.Unlock()
	for _, c := range q.refreshed {
		close(c)
	}
	q.refreshed = nil
}

func (q *queue) paused() bool { return q.Clock.Now().Before(q.health.PausedUntil) }

// park forgets what is in memory and not on its way; it stays in the store.
func (q *queue) park() {
	for lane, list := range q.lanes {
		q.drop(lane, list)
	}
	q.ready, q.from = nil, ledger.LaneKey{}
	q.more, q.parked = true, q.flying > 0
}

func (q *queue) drop(lane string, list []ledger.DueDelivery) {
	for _, d := range list {
		if !q.away[d.EventID] {
			delete(q.busy, d.EventID)
		}
	}
	delete(q.lanes, lane)
}

// window is how many deliveries this queue may have in memory.
func (q *queue) window() int {
	q.Service.mu.Lock()
	defer q.Service.mu.Unlock()
	return min(max(maxHeld/max(len(q.queues), 1), minWindow), maxWindow)
}

// load reads the next deliveries that are due, where there is room.
func (q *queue) load(ctx context.Context) {
	window := q.window()
	if !q.more || q.parked || q.gone || q.paused() || len(q.busy) > window/2 {
		return
	}
	due, err := q.Store.DueDeliveries(ctx, q.endpoint.ID, q.from, q.Clock.Now(), window)
	if err != nil {
		q.failed(ctx, "list due deliveries", err)
		return
	}
	for _, d := range due {
		if len(q.busy) >= window {
			return // from is the last that was taken
		}
		place := ledger.LaneKey{Lane: d.Lane, Seq: d.Seq}
		q.from = place
		if at, known := q.busy[d.EventID]; known || q.held[d.Lane] {
			q.skipped = q.skipped || !known || at != place
			continue
		}
		if _, known := q.lanes[d.Lane]; !known {
			q.ready = append(q.ready, d.Lane)
		}
		q.busy[d.EventID] = place
		q.lanes[d.Lane] = append(q.lanes[d.Lane], d)
	}
	if len(due) < window {
		q.more, q.again, q.from = q.again, false, ledger.LaneKey{}
	}
}

// launch sends what may be sent now. A lane has one on its way at most.
func (q *queue) launch(ctx context.Context) {
	if q.gone || q.paused() || len(q.ready) == 0 {
		return
	}
	if q.Clock.Now().Add(sendTimeout+time.Second).UnixMilli() > q.until.Load() {
		signal(q.extended) // another one may begin before ours would end
		return
	}
	for q.flying < q.limit && len(q.ready) > 0 {
		lane := q.ready[0]
		q.ready = q.ready[1:]
		d, epoch, secrets, to := q.lanes[lane][0], q.epoch, q.secrets, q.address
		q.flying++
		q.away[d.EventID] = true
		at := q.Clock.Now()
		q.running.Go(func() {
			q.results <- result{delivery: d, outcome: q.send(ctx, to, d.Event, secrets), epoch: epoch, at: at}
		})
	}
}

// idle tells whether there has been nothing to do for so long that the endpoint is
// given back.
func (q *queue) idle(ctx context.Context) bool {
	if q.flying > 0 || len(q.busy) > 0 {
		q.idleSince = time.Time{}
		return false
	}
	if q.paused() || q.gone {
		return true
	}
	if q.more {
		q.idleSince = time.Time{}
		return false
	}
	if q.idleSince.IsZero() {
		var err error
		if q.retry, err = q.Store.NextRetry(ctx, q.endpoint.ID); err != nil {
			q.failed(ctx, "read next retry", err)
			return true
		}
		if soon := q.Clock.Now().Add(idleTick); !q.retry.IsZero() && q.retry.Before(soon) {
			q.retry = soon // the pass that has ended may have left it, for whatever reason
		}
		q.idleSince = time.Now()
	}
	if !q.retry.IsZero() && !q.Clock.Now().Before(q.retry) {
		q.more, q.idleSince = true, time.Time{}
		signal(q.signal)
		return false
	}
	return time.Since(q.idleSince) > linger || q.crowded()
}

// crowded tells whether others may wait for this instance to have room.
func (q *queue) crowded() bool {
	q.Service.mu.Lock()
	defer q.Service.mu.Unlock()
	return len(q.queues) > maxQueues*3/4
}

// release gives the endpoint back. It is false where something was added since.
func (q *queue) release(ctx context.Context) bool {
	var wake time.Time
	var err error
	if q.more { // paused, or of no use any more
		wake = q.Clock.Now()
	} else if wake, err = q.Store.NextRetry(ctx, q.endpoint.ID); err != nil {
		q.failed(ctx, "read next retry", err)
		wait(ctx, idleTick)
		return false
	}
	done, err := q.Store.ReleaseWebhookEndpoint(ctx, q.owner, q.endpoint, wake)
	if err != nil {
		q.failed(ctx, "release webhook endpoint", err)
		wait(ctx, idleTick)
		return false
	}
	if done {
		return true
	}
	e, err := q.Store.WebhookEndpoint(ctx, q.endpoint.ID)
	if err != nil { // deleted
		return errors.Is(err, ledger.ErrNotFound)
	}
	if e.WakeSeq == q.endpoint.WakeSeq { // another's by now
		return true
	}
	q.endpoint.WakeSeq, q.more, q.from = e.WakeSeq, true, ledger.LaneKey{}
	return false
}

// end waits a moment for what is on its way, and gives the endpoint back.
func (q *queue) end(ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endWithin)
	defer cancel()
	q.park()
	timer := time.AfterFunc(endWithin, stop)
	defer timer.Stop()
	for q.flying > 0 {
		r := <-q.results
		if r.outcome.status == 0 && !timer.Stop() { // cut off by us, perhaps
			q.flying--
			delete(q.away, r.delivery.EventID)
			delete(q.busy, r.delivery.EventID)
			continue
		}
		timer.Reset(endWithin)
		q.settle(ctx, r)
	}
	q.park()
	for len(q.busy) > 0 && ctx.Err() == nil {
		select {
		case <-q.signal:
		case <-ctx.Done():
		}
		q.take(ctx)
	}
	if _, err := q.Store.ReleaseWebhookEndpoint(ctx, q.owner, q.endpoint, q.Clock.Now()); err != nil {
		q.Logger.WarnContext(ctx, "release webhook endpoint", slog.String("error", err.Error())) // it lapses
	}
}
