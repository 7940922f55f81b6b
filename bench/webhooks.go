package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// webhookRows compare deliveries with a plain loop of as many workers that posts
// one of them again and again, headers and body, to the same receiver.
func webhookRows(ctx context.Context) ([]row, error) {
	var ratio float64
	var err error
	result := testing.Benchmark(func(b *testing.B) {
		s := &sink{done: make(chan time.Duration, 1)}
		receiver := httptest.NewServer(s)
		defer receiver.Close()
		d := &backlog{sink: s, url: receiver.URL}
		d.srv = servertest.Start(b, &servertest.Options{Configure: func(c *server.Config) { d.store = c.Store }})
		d.mandate = d.srv.Mandate(b, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 10_000})
		if _, err = d.deliver(ctx, 1); err != nil { // what is posted then
			b.Fatal(err)
		}
		for b.Loop() {
			ratio, err = pair(
				func() (time.Duration, error) { return posts(ctx, d.url, *s.last.Load()) },
				func() (time.Duration, error) { return d.deliver(ctx, perMandate) })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	if err != nil || result.N == 0 {
		return nil, errors.Join(err, errors.New("deliveries were not measured"))
	}
	return []row{atLeast("webhook deliveries, 32 workers", "plain pooled POST loop", ratio, 0.5)}, nil
}

// perMandate is how many events each of the callers' mandates has.
const perMandate = 500

// sink is a receiver that takes everything.
type sink struct {
	want  atomic.Int64 // how many more
	began atomic.Pointer[time.Time]
	done  chan time.Duration
	last  atomic.Pointer[sent]
}

// sent is a delivery as it came.
type sent struct {
	header http.Header
	body   []byte
}

// ServeHTTP takes a delivery.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	now := time.Now()
	s.began.CompareAndSwap(nil, &now)
	s.last.Store(&sent{r.Header, body})
	w.WriteHeader(http.StatusNoContent)
	if s.want.Add(-1) == 0 {
		s.done <- time.Since(*s.began.Load())
	}
}

// backlog is events that wait for an endpoint.
type backlog struct {
	srv     *servertest.Server
	store   store.Store
	sink    *sink
	url     string
	mandate string
}

// deliver lets events gather while a new endpoint is paused, so many of each mandate,
// and measures how fast they go out then.
func (l *backlog) deliver(ctx context.Context, n int) (time.Duration, error) {
	api := l.srv.Client()
	e, err := api.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: l.url})
	if err != nil {
		return 0, err
	}
	pause := func(until time.Time) error {
		return l.store.SaveEndpoints(ctx, "", []store.EndpointState{{EndpointID: e.ID, PausedUntil: until}})
	}
	l.sink.began.Store(nil)
	l.sink.want.Store(int64(callers*n) + 1)
	err = errors.Join(pause(l.srv.Clock.Now().Add(time.Hour)), gather(ctx, l.store, l.srv.Merchant.ID, n), pause(time.Time{}))
	if err != nil {
		return 0, err
	}
	// One more, which the service is notified of.
	if _, err := api.Charge(ctx, client.ChargeParams{Mandate: l.mandate, AmountCents: 1, Currency: client.USD, Description: "bench"}); err != nil {
		return 0, err
	}
	select {
	case took := <-l.sink.done:
		_, err := api.DeleteWebhookEndpoint(ctx, e.ID)
		return took, err
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("%d of %d not delivered in a minute", l.sink.want.Load(), callers*n)
	}
}

// gather has events happen, to all mandates in turn.
func gather(ctx context.Context, store store.Store, merchant string, n int) error {
	now := time.Now().Truncate(time.Millisecond)
	mandates := make([]string, callers)
	for i := range mandates {
		mandates[i] = id.New(id.Mandate, now)
	}
	for seq := range n {
		now = now.Add(time.Millisecond)
		var happened []ledger.Event
		for _, mandate := range mandates {
			happened = append(happened, ledger.Event{
				ID: id.New(id.Event, now), MandateID: mandate, Seq: int64(seq + 1), MerchantID: merchant, Type: webhook.PaymentSucceeded, CreatedAt: now,
				Data: fmt.Sprintf(`{"transactionId":%q,"delegateId":%q,"amountCents":1,"amountMicros":10000,"rail":"fiatrail","status":"succeeded"}`,
					id.New(id.Charge, now), mandate),
			})
		}
		err := store.Update(ctx, ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
			return ledger.Effects{Insert: ledger.Rows{Events: happened}}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// posts is the time of the plain loop.
func posts(ctx context.Context, url string, d sent) (time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	var failed atomic.Value
	began := time.Now()
	for range callers {
		all.Go(func() {
			_, err := each(perMandate, func() error {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.body))
				if err != nil {
					return err
				}
				r.Header = d.header
				resp, err := transport.RoundTrip(r)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body)
				return errors.Join(err, resp.Body.Close())
			})
			if err != nil {
				failed.Store(err)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if err, ok := failed.Load().(error); ok {
		return 0, err
	}
	return took, nil
}
