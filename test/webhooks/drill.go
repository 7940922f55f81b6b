package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/webhook"
)

type options struct {
	Events, Kills int
	Seed          uint64
}

// report is what the drill found.
type report struct {
	Kills, Events, Requests         int
	Lost, Invented, Disordered, Bad int
	// Alone and Beside are the good endpoint's latencies, 99 of 100, without the bad
	// one and beside it.
	Alone, Beside time.Duration
	Took          time.Duration
}

func (r report) failed() bool {
	return r.Events == 0 || r.Lost+r.Invented+r.Disordered+r.Bad > 0
}

func (r report) String() string {
	return fmt.Sprintf("kills %d, events %d in %s (%d requests to the bad receiver), lost %d, invented %d, out of order %d, unverified %d, "+
		"good endpoint p99 %s alone, %s beside the bad one",
		r.Kills, r.Events, r.Took.Round(time.Millisecond), r.Requests, r.Lost, r.Invented, r.Disordered, r.Bad,
		r.Alone.Round(time.Millisecond), r.Beside.Round(time.Millisecond))
}

const (
	// callers charge at once, each a mandate of its own at a time.
	callers = 8
	// perMandate is how many events a mandate has.
	perMandate = 25
	// fast is how much the service's clock gains every tick while things happen,
	// faster how much afterwards, when retries of hours are waited for.
	fast, faster, tick = 5 * time.Second, 3 * time.Minute, 100 * time.Millisecond
)

// system is a service with a merchant.
type system struct {
	clock    clock.Movable
	service  *server.Server
	http     *httptest.Server
	quiet    atomic.Bool // all has happened
	merchant *client.Client

	mu       sync.Mutex
	expected map[string][]string  // by mandate, what happened
	answered map[string]time.Time // charges
}

func startSystem(ctx context.Context, dir string) (*system, error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "pay.db"))
	if err != nil {
		return nil, err
	}
	s := &system{http: httptest.NewUnstartedServer(nil), expected: map[string][]string{}, answered: map[string]time.Time{}}
	s.service, err = server.New(ctx, server.Config{
		BaseURL: "http://" + s.http.Listener.Addr().String(), Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
		Clock: &s.clock, RequestsPerSecond: 1_000_000, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if err := s.service.Start(ctx); err != nil {
		return nil, errors.Join(err, s.service.Close())
	}
	s.http.Config.Handler = s.service
	s.http.Start()
	m, err := s.service.CreateMerchant(ctx, server.MerchantParams{Name: "Drill"})
	if err == nil {
		s.merchant, err = newClient(s.http.URL, m.ID, m.APIKey)
	}
	return s, err
}

func newClient(url, id, key string) (*client.Client, error) {
	return client.New(client.Config{
		BaseURL: url, MerchantID: id, APIKey: key, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
	})
}

func (s *system) stop() error {
	s.http.Close()
	return s.service.Close()
}

// listen adds a receiver as an endpoint.
func (s *system) listen(ctx context.Context, r *receiver) error {
	e, err := s.merchant.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "http://" + r.addr})
	r.verify = webhook.Verifier{Secrets: []string{e.Secret}, Clock: s.clock.Now, Tolerance: 24 * time.Hour}
	return err
}

// happen has so many events happen.
func (s *system) happen(ctx context.Context, events int) error {
	work := make(chan int, events/perMandate+1)
	for n := events; n > 0; n -= perMandate {
		work <- min(n, perMandate)
	}
	close(work)
	var all sync.WaitGroup
	errs := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for n := range work {
				if err := s.live(ctx, n); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// live is the life of one mandate: n events in order.
func (s *system) live(ctx context.Context, n int) error {
	session, err := s.merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 100, MaxMonthlySpendCents: 100_000})
	if err != nil {
		return err
	}
	done, err := s.merchant.CompleteTestSession(ctx, session.SessionToken, client.TestCompletion{})
	if err != nil {
		return err
	}
	s.happened(done.DelegateID, string(webhook.DelegateCreated))
	for range n - 1 {
		c, err := s.merchant.Charge(ctx, client.ChargeParams{Mandate: done.IntentMandate, AmountCents: 1, Currency: client.USD, Description: "drill"})
		if err != nil {
			return err
		}
		s.happened(done.DelegateID, c.TransactionID)
	}
	return nil
}

func (s *system) happened(mandate, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected[mandate] = append(s.expected[mandate], what)
	s.answered[what] = time.Now()
}

// deliver is the drill with a bad receiver beside a good one.
func deliver(ctx context.Context, o options) (r report, err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "webhooks-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s, err := startSystem(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	good, err := newReceiver(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, good.stop()) }()
	if err := s.listen(ctx, good); err != nil {
		return r, err
	}
	alone := max(o.Events/20, 100)
	if err := s.happen(ctx, alone); err != nil {
		return r, err
	}
	if err := until(ctx, func() bool { return good.count() >= alone }); err != nil {
		return r, err
	}
	r.Alone = s.latency(good)
	bad, err := newReceiver(ctx, rand.New(rand.NewPCG(o.Seed, 1))) // repeatable
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bad.stop()) }()
	if err := s.listen(ctx, bad); err != nil {
		return r, err
	}
	s.mu.Lock()
	s.expected, s.answered = map[string][]string{}, map[string]time.Time{}
	s.mu.Unlock()
	chaos, end := context.WithCancel(ctx)
	var moods sync.WaitGroup
	moods.Go(func() { s.hurry(chaos) })
	moods.Go(func() { err = errors.Join(err, bad.restart(chaos)) })
	happened := s.happen(ctx, o.Events)
	s.quiet.Store(true)
	if happened == nil {
		happened = until(ctx, func() bool { return bad.count() >= o.Events && good.count() >= alone+o.Events })
	}
	end()
	moods.Wait()
	r.Events, r.Requests, r.Beside, r.Took = o.Events, bad.requests, s.latency(good), time.Since(began)
	s.judge(&r, good)
	s.judge(&r, bad)
	return r, errors.Join(err, happened)
}

// hurry lets the service's clock run fast.
func (s *system) hurry(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if s.quiet.Load() {
				s.clock.Advance(faster)
			} else {
				s.clock.Advance(fast)
			}
		}
	}
}

// restart stops the receiver now and then, and starts it again.
func (r *receiver) restart(ctx context.Context) error {
	t := time.NewTicker(2 * time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if err := r.stop(); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
		if err := r.start(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// latency is how long after the answer of a charge its event came, 99 of 100.
func (s *system) latency(r *receiver) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []time.Duration
	for name, at := range s.answered {
		if got, ok := r.at[name]; ok && name != string(webhook.DelegateCreated) {
			all = append(all, got.Sub(at))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// judge compares what happened with what a receiver was told first.
func (s *system) judge(r *report, to *receiver) {
	to.mu.Lock()
	defer to.mu.Unlock()
	r.Bad += to.invalid
	for mandate, want := range s.expected {
		got := to.order[mandate]
		r.Lost += max(len(want)-len(got), 0)
		r.Invented += max(len(got)-len(want), 0)
		if len(got) == len(want) && !slices.Equal(got, want) {
			r.Disordered++
		}
	}
}

// patience is how long nothing may change before the drill gives up.
const patience = 3 * time.Minute

func until(ctx context.Context, done func() bool) error {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			return errors.New("not all was delivered in time")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return nil
}
