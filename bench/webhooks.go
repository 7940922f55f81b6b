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
	"github.com/paywarrant/paywarrant/server/servertest"
)

// webhookRows compare deliveries with a plain loop of as many workers that posts
// the same to the same receiver.
func webhookRows(ctx context.Context) ([]row, error) {
	var ratio float64
	var err error
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if ratio, err = deliveries(ctx, b); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err != nil || result.N == 0 {
		return nil, errors.Join(err, errors.New("deliveries were not measured"))
	}
	return []row{atLeast("webhook deliveries, 32 workers", "plain pooled POST loop", ratio, 0.8)}, nil
}

// perMandate is how many events each of the callers' mandates has.
const perMandate = 40

// sink is a receiver that takes everything, once it is open.
type sink struct {
	open  atomic.Bool
	want  int64
	taken atomic.Int64
	began atomic.Pointer[time.Time]
	done  chan time.Duration
	body  atomic.Pointer[[]byte]
}

// ServeHTTP takes a delivery, or asks for it later.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !s.open.Load() {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	now := time.Now()
	s.began.CompareAndSwap(nil, &now)
	s.body.Store(&body)
	w.WriteHeader(http.StatusNoContent)
	if s.taken.Add(1) == s.want {
		s.done <- time.Since(*s.began.Load())
	}
}

// deliveries lets events gather while the receiver takes none, and measures how
// fast they go out then.
func deliveries(ctx context.Context, b *testing.B) (float64, error) {
	s := &sink{want: callers * perMandate, done: make(chan time.Duration, 1)}
	receiver := httptest.NewServer(s)
	defer receiver.Close()
	srv := servertest.Start(b, nil)
	if _, err := srv.Client().CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: receiver.URL}); err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	for range callers {
		m := srv.Mandate(b, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 10_000})
		all.Go(func() {
			for range perMandate - 1 {
				_, err := srv.Client().Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USD, Description: "bench"})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	s.open.Store(true)
	srv.Clock.Advance(2 * time.Hour)
	var took time.Duration
	select {
	case took = <-s.done:
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("%d of %d delivered in a minute", s.taken.Load(), s.want)
	}
	plain, err := posts(ctx, receiver.URL, *s.body.Load())
	return float64(plain) / float64(took), err
}

// posts is the time of the plain loop.
func posts(ctx context.Context, url string, body []byte) (time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	var failed atomic.Value
	began := time.Now()
	for range callers {
		all.Go(func() {
			_, err := each(perMandate, func() error {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					return err
				}
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
