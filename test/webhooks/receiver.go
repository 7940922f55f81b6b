package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/webhook"
)

// receiver takes deliveries and keeps what it took.
type receiver struct {
	verify webhook.Verifier
	ahead  func() time.Duration // how far the service's clock runs ahead
	mood   mood

	addr   string
	server *http.Server

	mu       sync.Mutex
	random   *rand.Rand
	requests int
	invalid  int
	overlaps int            // an event came while it was on its way already
	here     map[string]int // events that are being received
	refused  map[string]int // how often an event was
	taken    map[string]bool
	told     map[string]bool     // taken, when the book was closed
	order    map[string][]string // by mandate, what happened first
	at       map[string]arrival
}

// arrival is when an event came, and how old it was then by the service's clock.
type arrival struct {
	came time.Time
	age  time.Duration
}

// mood is how a receiver behaves; it may change.
type mood struct {
	// bad: it fails 30 % of the time, answers slowly, and resets connections.
	bad atomic.Bool
	// quick: though bad, it does not let others wait.
	quick atomic.Bool
	// pace is how long a well-behaved one takes at most.
	pace time.Duration
}

// patient is how often one event is refused at most: a delivery is given up after
// eleven attempts, which is no loss.
const patient = 6

// what is the transaction of an event, or its type.
type what struct {
	DelegateID    string `json:"delegateId"`
	TransactionID string `json:"transactionId"`
}

func newReceiver(ctx context.Context, random *rand.Rand) (*receiver, error) {
	r := &receiver{
		ahead: func() time.Duration { return 0 }, random: random, addr: "127.0.0.1:0", here: map[string]int{}, refused: map[string]int{},
		taken: map[string]bool{}, order: map[string][]string{}, at: map[string]arrival{},
	}
	return r, r.start(ctx)
}

// start listens, on the same address as before.
func (r *receiver) start(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	r.addr = l.Addr().String()
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go r.server.Serve(l) //nolint:errcheck // ends with Close
	return nil
}

func (r *receiver) stop() error { return r.server.Close() }

// ServeHTTP is in a mood, or takes the event.
func (r *receiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return
	}
	id := in.Header.Get("webhook-id")
	do, slow := r.comes(id)
	defer r.leaves(id)
	_ = sleep.For(in.Context(), slow)
	switch do {
	case reset: // without a word
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if t, ok := c.(*net.TCPConn); ok {
				err = t.SetLinger(0)
			}
			_ = errors.Join(err, c.Close())
		}
	case refuse:
		http.Error(w, "not now", http.StatusInternalServerError)
	case takeAndRefuse: // the answer is lost
		r.take(in.Header, body)
		http.Error(w, "taken all the same", http.StatusInternalServerError)
	case take:
		if !r.take(in.Header, body) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// What a receiver does with a delivery.
const (
	take = iota
	refuse
	reset
	takeAndRefuse
)

// comes notes that a delivery has come, and returns what is done with it, and after
// how long.
func (r *receiver) comes(id string) (do int, slow time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.here[id]++; r.here[id] > 1 {
		r.overlaps++
	}
	if !r.mood.bad.Load() {
		if r.mood.pace > 0 {
			slow = time.Duration(r.random.Int64N(int64(r.mood.pace)))
		}
		return take, slow
	}
	if !r.mood.quick.Load() {
		slow = time.Duration(r.random.Int64N(int64(20 * time.Millisecond)))
		switch n := r.random.IntN(1000); {
		case n < 20:
			slow = time.Second
		case n < 22:
			slow = time.Hour // the sender has hung up long before
		}
	}
	switch n := r.random.IntN(100); {
	case r.refused[id] == patient:
		return take, slow
	case n < 3:
		do = reset
	case n < 28:
		do = refuse
	case n < 30:
		do = takeAndRefuse
	default:
		return take, slow
	}
	r.refused[id]++
	return do, slow
}

func (r *receiver) leaves(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.here[id]--; r.here[id] == 0 {
		delete(r.here, id)
	}
}

func (r *receiver) take(h http.Header, body []byte) bool {
	e, err := r.verify.Verify(h, body)
	came, age := time.Now(), r.ahead()
	var about what
	if err == nil {
		age += came.Sub(e.CreatedAt)
		err = json.Unmarshal(e.Data, &about)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.invalid++
		return false
	}
	if !r.taken[e.ID] {
		name := about.TransactionID
		if name == "" {
			name = string(e.Type)
		}
		r.taken[e.ID], r.at[name] = true, arrival{came, age}
		r.order[about.DelegateID] = append(r.order[about.DelegateID], name)
	}
	return true
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.taken)
}

// restart stops a receiver for a moment and starts it again.
func (r *receiver) restart(ctx context.Context) error {
	if err := r.stop(); err != nil {
		return err
	}
	_ = sleep.For(ctx, 50*time.Millisecond)
	return until(ctx, func() bool { return r.start(ctx) == nil }) // others may have taken the port for a moment
}
