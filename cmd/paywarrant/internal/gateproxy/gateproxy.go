// Package gateproxy is a gate as a reverse proxy: it charges for a service in any language.
//
// A request matches a route, which has a price or is free. A paid request is sent upstream
// without its credential and with facts about the payment; see [Config].FactsKey. Requests
// that match no route are refused.
package gateproxy

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paywarrant/paywarrant/paywall"
)

// Options are what a [Proxy] keeps while its configuration changes. All are optional.
type Options struct {
	// Redemptions remembers which credentials were redeemed. Default: in memory.
	Redemptions paywall.Redemptions
	// Registerer registers the metrics. Default: none are recorded.
	Registerer prometheus.Registerer
	// Logger logs refusals and errors, never credentials. Default: none.
	Logger *slog.Logger
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Proxy serves the routes of its latest configuration. It is safe for concurrent use.
type Proxy struct {
	o       Options
	metrics *metrics
	secrets []string // of challenges, if the configuration has none

	mu      sync.RWMutex
	current *generation
	ending  sync.WaitGroup
}

// New returns a proxy without a configuration: it answers 503 until [Proxy.Load].
func New(o Options) *Proxy {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Redemptions == nil {
		o.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Clock: o.Clock})
	}
	return &Proxy{o: o, metrics: newMetrics(o.Registerer), secrets: []string{rand.Text()}}
}

// generation is what one configuration makes.
type generation struct {
	gates    []*paywall.Gate
	handler  http.Handler
	upstream *upstream
	running  sync.WaitGroup
}

// Load replaces the configuration. Requests that are running end under the one that they
// began with. If there is an error, which names the field, nothing changes.
func (p *Proxy) Load(c Config) error {
	next, err := p.build(c)
	if err != nil {
		return err
	}
	p.mu.Lock()
	last := p.current
	p.current = next
	p.mu.Unlock()
	if last != nil {
		p.ending.Go(func() { last.end(context.Background(), p.o.Logger) })
	}
	return nil
}

// ServeHTTP serves a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.RLock()
	g := p.current
	if g != nil {
		g.running.Add(1)
	}
	p.mu.RUnlock()
	if g == nil {
		refuse(w, http.StatusServiceUnavailable, "unavailable", "The gate is starting.")
		return
	}
	defer g.running.Done()
	g.handler.ServeHTTP(w, r)
}

// Ready returns an error if the upstream takes no connections.
func (p *Proxy) Ready(ctx context.Context) error {
	p.mu.RLock()
	g := p.current
	p.mu.RUnlock()
	if g == nil {
		return errors.New("no configuration is loaded")
	}
	return g.upstream.dial(ctx)
}

// Shutdown waits until every request, capture and refund has ended, or ctx has.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	last := p.current
	p.current = nil
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if last != nil {
			last.end(ctx, p.o.Logger)
		}
		p.ending.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end waits for the generation's requests, and for the captures and refunds that they left.
func (g *generation) end(ctx context.Context, log *slog.Logger) {
	g.running.Wait()
	for _, gate := range g.gates {
		if err := gate.Shutdown(ctx); err != nil {
			log.ErrorContext(ctx, "captures or refunds have no outcome", slog.String("error", err.Error()))
		}
		gate.CloseIdleConnections()
	}
	g.upstream.transport.CloseIdleConnections()
}
