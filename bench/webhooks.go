package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

// webhookRows compare deliveries with a plain loop of as many workers that posts
// one of them again and again, headers and body, to the same receiver.
func webhookRows(ctx context.Context) ([]row, error) {
	var ratios []float64
	var err error
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			for ratios = nil; len(ratios) < 3; {
				var ratio float64
				if ratio, err = deliveries(ctx, b); err != nil {
					b.Fatal(err)
				}
				ratios = append(ratios, ratio)
			}
		}
	})
	if err != nil || result.N == 0 {
		return nil, errors.Join(err, errors.New("deliveries were not measured"))
	}
	slices.Sort(ratios)
	return []row{atLeast("webhook deliveries, 32 workers", "plain pooled POST loop", ratios[len(ratios)/2], 0.8)}, nil
}

// perMandate is how many events each of the callers' mandates has.
const perMandate = 1000

// sink is a receiver that takes everything.
type sink struct {
	want  int64
	taken atomic.Int64
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
	if s.taken.Add(1) == s.want {
		s.done <- time.Since(*s.began.Load())
	}
}

// deliveries lets events gather while their endpoint is paused, and measures how
// fast they go out then.
func deliveries(ctx context.Context, b *testing.B) (float64, error) {
	s := &sink{want: callers * perMandate, done: make(chan time.Duration, 1)}
	receiver := httptest.NewServer(s)
	defer receiver.Close()
	var store ledger.Store
	srv := servertest.Start(b, &servertest.Options{Configure: func(c *server.Config) { store = c.Store }})
	e, err := srv.Client().CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: receiver.URL})
	if err != nil {
		return 0, err
	}
	pause := func(until time.Time) error {
		return store.SaveDeliveries(ctx, nil, []ledger.EndpointState{{EndpointID: e.ID, PausedUntil: until}})
	}
	if err := pause(srv.Clock.Now().Add(time.Hour)); err != nil {
		return 0, err
	}
	if err := gather(ctx, store, srv.Merchant.ID); err != nil {
		return 0, err
	}
	if err := pause(time.Time{}); err != nil {
		return 0, err
	}
	var took time.Duration
	select {
	case took = <-s.done:
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("%d of %d delivered in a minute", s.taken.Load(), s.want)
	}
	plain, err := posts(ctx, receiver.URL, *s.last.Load())
	return float64(plain) / float64(took), err
}

// gather has events happen, to all mandates in turn.
func gather(ctx context.Context, store ledger.Store, merchant string) error {
	now := time.Now().Truncate(time.Millisecond)
	mandates := make([]string, callers)
	for i := range mandates {
		mandates[i] = id.New(id.Mandate, now)
	}
	for seq := range perMandate {
		now = now.Add(time.Millisecond)
		var happened []ledger.Event
		for _, mandate := range mandates {
			happened = append(happened, ledger.Event{
				ID: id.New(id.Event, now), MandateID: mandate, Seq: int64(seq + 1), MerchantID: merchant, Type: webhook.PaymentSucceeded, CreatedAt: now,
				Data: fmt.Appendf(nil, `{"transactionId":%q,"delegateId":%q,"amountCents":1,"amountMicros":10000,"rail":"fiatrail","status":"succeeded"}`,
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
