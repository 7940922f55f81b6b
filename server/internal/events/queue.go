package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

const (
	// maxWindow is how many events of the stream, and how many stored deliveries, of
	// one endpoint are in memory at most, where few are worked on; minWindow where
	// many are, which share maxHeld.
	maxWindow, minWindow, maxHeld = 1024, 64, 32 * 1024
	// minPage is how many events are read at once at least.
	minPage = 64
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
	linger = 10 * time.Second
)

// queue works on one endpoint while this instance has it on lease: on the stream of
// its merchant's events, and on the deliveries that are stored, which are those that
// failed, what waits behind them, and what is made again. Its state belongs to the
// goroutine that runs it; what others may touch is at the end.
type queue struct {
	*Service

	endpoint ledger.WebhookEndpoint
	address  *url.URL
	secrets  []string
	signer   *webhook.Signer // with the secrets
	health   health
	readAt   time.Time // real time
	gone     bool      // disabled or deleted: nothing more is sent

	feed   *feed
	stream stream
	stored pass
	retry  time.Time // when the first stored delivery is due again; zero: none

	// parked: nothing is loaded until what is on its way has come back.
	parked bool
	lanes  map[string][]*item
	ready  []string // lanes whose first delivery can be sent
	// busy are the stored deliveries that are in memory or still to be saved; tails
	// are the last of each lane that were read.
	busy   map[ledger.LaneKey]int
	tails  map[string]int64
	saving saving
	// waiting are lanes whose first delivery waits for its retry.
	waiting map[string]bool
	flying  int
	limit   int
	direct  bool // the last answer says that connections stay, and bear one delivery at a time

	request   *http.Request // what attempts that begin now have in common
	limitedAt time.Time
	// turn is another one once flights that are under way are to end.
	turn atomic.Int64

	flyers  int
	flights chan flight // to those who have nothing to do
	result  chan result
	// refreshed are who waits for deliveries that were signed before a rotation.
	epoch, former int // flying ones of former epochs
	refreshed     []chan struct{}

	until  atomic.Int64 // of the lease, unix milliseconds
	lost   atomic.Bool
	signal chan struct{}

	idleSince time.Time // real time; zero: there is something to do

	mu      sync.Mutex
	fresh   bool  // deliveries were stored by others
	wakeSeq int64 // the last that was heard of
	pending progress
	saved   []progress
	refresh []chan struct{}
}

// health is how an endpoint has fared of late.
type health struct {
	failingSince, pausedUntil time.Time
	failures                  int
}

func newQueue(s *Service, e ledger.WebhookEndpoint, until time.Time) *queue {
	q := &queue{
		Service: s, endpoint: e, lanes: map[string][]*item{}, busy: map[ledger.LaneKey]int{}, tails: map[string]int64{}, waiting: map[string]bool{},
		limit: firstFlying, flights: make(chan flight), result: make(chan result, maxFlying), signal: make(chan struct{}, 1),
		stream: stream{more: true, read: e.Place, place: e.Place}, stored: newPass(), wakeSeq: e.WakeSeq,
		health: health{failingSince: e.FailingSince, failures: e.Failures, pausedUntil: e.PausedUntil},
	}
	q.saving = saving{lanes: map[string]int{}, state: ledger.EndpointState{
		EndpointID: e.ID, Place: e.Place, FailingSince: e.FailingSince, Failures: e.Failures, PausedUntil: e.PausedUntil,
	}}
	q.until.Store(until.UnixMilli())
	return q
}

// added tells that deliveries were stored that are to be made.
func (q *queue) added() {
	q.mu.Lock()
	q.fresh = true
	q.mu.Unlock()
	signal(q.signal)
}

// hear takes note of what is new for the endpoint.
func (q *queue) hear(n ledger.EndpointNews) {
	q.feed.reached(n.End)
	q.mu.Lock()
	again := n.WakeSeq != q.wakeSeq
	q.wakeSeq, q.fresh = n.WakeSeq, q.fresh || again
	q.mu.Unlock()
	if again {
		signal(q.signal)
	}
}

// run works until there is nothing to do now, and gives the endpoint back.
func (q *queue) run(ctx context.Context) {
	requests, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer close(q.flights)
	defer q.answerWaiters(true)
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
		q.hand()
		if q.idle() {
			if q.release(ctx) {
				return
			}
			continue
		}
		select {
		case r := <-q.result:
			q.settle(ctx, r)
			for range len(q.result) {
				q.settle(ctx, <-q.result)
			}
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
	for _, p := range saved {
		q.acknowledged(p)
	}
	if fresh {
		q.stored.begin()
		q.endpoint.WakeSeq = wakeSeq
	}
	q.stream.more = q.stream.more || q.stream.read < q.feed.end.Load()
	q.parked = q.parked && q.flying > 0
	if len(refresh) > 0 || time.Since(q.readAt) > reread {
		q.read(ctx)
		q.refreshed = append(q.refreshed, refresh...)
		q.answerWaiters(false)
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

// adopt takes over an endpoint as it was read. WakeSeq is not: it says what was to be
// made again when the pass began.
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
		q.turn.Add(1)
	}
	if !slices.Equal(q.secrets, secrets) {
		if q.signer, err = webhook.NewSigner(secrets...); err != nil {
			return fmt.Errorf("webhook endpoint %s: %w", e.ID, err)
		}
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

func (q *queue) paused() bool { return q.Clock().Before(q.health.pausedUntil) }

// window is how many of each source this queue may have in memory.
func (q *queue) window() int {
	q.Service.mu.Lock()
	defer q.Service.mu.Unlock()
	return min(max(maxHeld/max(len(q.queues), 1), minWindow), maxWindow)
}

// load reads what comes next, where there is room.
func (q *queue) load(ctx context.Context) {
	if q.parked || q.gone || q.paused() {
		return
	}
	q.loosen()
	q.recall(ctx)
	q.follow(ctx)
}

// enqueue puts an item behind the others of its lane.
func (q *queue) enqueue(d *item) {
	if len(q.lanes[d.Lane]) == 0 {
		q.ready = append(q.ready, d.Lane)
	}
	q.lanes[d.Lane] = append(q.lanes[d.Lane], d)
}

// park forgets what is in memory and not on its way; it stays in the store.
func (q *queue) park() {
	q.turn.Add(1)
	for lane, list := range q.lanes {
		for _, d := range list {
			if !d.bound {
				q.stored.loose[lane] = true
			}
			q.drop(d)
		}
	}
	q.rewind() // after that, since it makes stored ones of others
	clear(q.lanes)
	clear(q.tails)
	q.ready, q.parked = nil, q.flying > 0
}

// drop forgets a stored delivery, unless it is on its way.
func (q *queue) drop(d *item) {
	if !d.bound && !d.away {
		count(q.busy, d.key(), -1)
	}
}
