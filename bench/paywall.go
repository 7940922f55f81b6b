package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
)

// paywallRows compare the 402 answer and the paid request with bare handlers.
func paywallRows(ctx context.Context) ([]row, error) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"temperature":7}`)
	})
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", APIURL: "https://sandbox.pay.example",
		TestMode: true, Resource: "https://api.example.com/weather", Secrets: []string{"a secret of sixteen bytes or more"},
		Discovery: &paywall.Discovery{Description: "The weather now", Output: paywall.Output{Schema: map[string]any{"type": "object"}}},
	})
	if err != nil {
		return nil, err
	}
	gated := gate.Require(bare)
	ratio, err := pair(load(ctx, bare), load(ctx, gated))
	if err != nil {
		return nil, err
	}
	paid, err := paidRows(ctx)
	if err != nil {
		return nil, err
	}
	own, base := inProcess(gated), inProcess(bare)
	extra := time.Duration(own.NsPerOp() - base.NsPerOp())
	allocs := own.AllocsPerOp() - base.AllocsPerOp()
	return append([]row{
		atLeast("402 answer, requests/s", "bare handler", ratio, 0.60),
		{"402 answer, time on top", "bare handler", fmt.Sprintf("%.1f µs", float64(extra)/1e3), "≤ 9 µs", extra <= 9*time.Microsecond},
		{"402 answer, allocations on top", "bare handler", fmt.Sprint(allocs), "≤ 40", allocs <= 40},
	}, paid...), nil
}

// load measures the time of a request of a handler over loopback HTTP.
func load(ctx context.Context, h http.Handler) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		srv := httptest.NewServer(h)
		defer srv.Close()
		return loadAt(ctx, srv.URL)()
	}
}

// loadAt measures the time of a request of a server that runs.
func loadAt(ctx context.Context, url string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		return atOnce(func(client *http.Client, _ int) error { return get(ctx, client, url) })
	}
}

const (
	webCallers = 8   // send requests at once
	webCalls   = 500 // each
)

// atOnce measures the time of a call when all callers make theirs at once. The calls of all
// callers have numbers of their own, from 0.
func atOnce(call func(client *http.Client, n int) error) (time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: webCallers}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	errs := make(chan error, webCallers)
	began := time.Now()
	for i := range webCallers {
		all.Go(func() {
			n := i * webCalls
			_, err := each(webCalls, func() error { n++; return call(client, n-1) })
			errs <- err
		})
	}
	all.Wait()
	took := time.Since(began) / (webCallers * webCalls)
	for range webCallers {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return took, nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// inProcess measures a handler without a connection.
func inProcess(h http.Handler) testing.BenchmarkResult {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "https://api.example.com/weather", nil)
		for b.Loop() {
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	})
}
