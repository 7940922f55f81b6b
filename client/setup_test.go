package client_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

const (
	merchantID = "mer_01JZ0000000000000000000000"
	apiKey     = "sk_test_ApiKeyCanary-0123456789"
	token      = "eyJhbGciOiJFUzI1NiJ9.TokenCanary.c2ln~ZGlzY2xvc3VyZQ~"
	sessToken  = "sess_SessionCanary0123456789"
)

// setup starts handler on a real listener, and a client of it.
func setup(t *testing.T, handler http.HandlerFunc, tune ...func(*client.Config)) *client.Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return newClient(t, client.Config{BaseURL: srv.URL, HTTPClient: srv.Client()}, tune...)
}

func newClient(t *testing.T, cfg client.Config, tune ...func(*client.Config)) *client.Client {
	t.Helper()
	cfg.MerchantID, cfg.APIKey = merchantID, apiKey
	for _, f := range tune {
		f(&cfg)
	}
	c, err := client.New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func noRetries(cfg *client.Config) { cfg.MaxRetries = -1 }

// setupInMemory starts handler on a listener in memory, which testing/synctest can
// follow: real HTTP, but time that passes by itself.
func setupInMemory(t *testing.T, handler http.HandlerFunc, tune ...func(*client.Config)) *client.Client {
	t.Helper()
	l := listenInMemory(t, handler)
	hc := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
	return newClient(t, client.Config{BaseURL: "http://localhost", HTTPClient: hc}, tune...)
}

type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func listenInMemory(t *testing.T, handler http.HandlerFunc) *memoryListener {
	t.Helper()
	l := &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return l
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// reply answers every request alike.
func reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// inTurn answers the first request with the first handler, and so on; the last one for ever.
func inTurn(handlers ...http.HandlerFunc) (handler http.HandlerFunc, calls func() int) {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			h := handlers[min(n, len(handlers)-1)]
			n++
			mu.Unlock()
			h(w, r)
		}, func() int {
			mu.Lock()
			defer mu.Unlock()
			return n
		}
}

// hangUp breaks the connection off without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const (
	chargeAnswer   = `{"transactionId":"txn_1","status":"completed","amountCents":250,"railUsed":"fiat","processorPaymentId":"pay_9","feeMicros":0,"createdAt":"2026-11-21T10:00:00.000Z"}`
	monthlyRefusal = `{"code":"monthly","message":"over the month","requestId":"req_1","limitCents":5000,"remainingMonthlySpendCents":120}`
	rateRefusal    = `{"code":"rate_limit_exceeded","message":"slow down","requestId":"req_2"}`
	busyRefusal    = `{"code":"unavailable","message":"busy","requestId":"req_3"}`
	faultRefusal   = `{"code":"internal_error","message":"fault","requestId":"req_4"}`
	runningRefusal = `{"code":"idempotency_in_progress","message":"still running","requestId":"req_5"}`
	keyRefusal     = `{"code":"unauthorized","message":"no such key","requestId":"req_6"}`
)

func chargeParams() client.ChargeParams {
	return client.ChargeParams{Mandate: token, AmountCents: 250, Currency: client.USD, Description: "October report"}
}
