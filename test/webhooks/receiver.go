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
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// receiver takes deliveries and keeps what it took.
type receiver struct {
	random *rand.Rand // nil: it behaves well
	verify webhook.Verifier

	addr   string
	server *http.Server

	mu       sync.Mutex
	requests int
	invalid  int
	taken    map[string]bool
	order    map[string][]string // by mandate, what happened first
	at       map[string]time.Time
}

// what is the transaction that an event tells of, or its type.
type what struct {
	DelegateID    string `json:"delegateId"`
	TransactionID string `json:"transactionId"`
}

func newReceiver(ctx context.Context, random *rand.Rand) (*receiver, error) {
	r := &receiver{random: random, addr: "127.0.0.1:0", taken: map[string]bool{}, order: map[string][]string{}, at: map[string]time.Time{}}
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
	mood, slow := r.mood()
	time.Sleep(slow)
	switch {
	case mood < 3: // reset, without a word
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if t, ok := c.(*net.TCPConn); ok {
				err = t.SetLinger(0)
			}
			_ = errors.Join(err, c.Close())
		}
	case mood < 30:
		http.Error(w, "not now", http.StatusInternalServerError)
	case mood < 32: // taken, and the answer is lost
		r.take(in.Header, body)
		http.Error(w, "taken all the same", http.StatusInternalServerError)
	default:
		if !r.take(in.Header, body) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (r *receiver) mood() (int, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.random == nil {
		return 100, 0
	}
	return r.random.IntN(100), time.Duration(r.random.IntN(4000)) * time.Microsecond
}

func (r *receiver) take(h http.Header, body []byte) bool {
	e, err := r.verify.Verify(h, body)
	var about what
	if err == nil {
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
		r.taken[e.ID], r.at[name] = true, time.Now()
		r.order[about.DelegateID] = append(r.order[about.DelegateID], name)
	}
	return true
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.taken)
}
