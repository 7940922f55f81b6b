// Package clientlimit limits the requests of a client address that have no effect, such as
// invalid payments. Requests that succeed do not count.
//
//	limits := clientlimit.New(clientlimit.Config{PerSecond: 10, Clock: clock, Logger: logger})
//	pass, wait := limits.Admit(r, payer)
//	if wait > 0 {
//		// try again after wait
//	}
//	pass.Good() // if the request succeeded
package clientlimit

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
)

const (
	// burstSeconds is the size of a bucket, in seconds of refill.
	burstSeconds = 10
	// provenFor is how long a payer who paid is not limited at the same address.
	provenFor = time.Hour
	// maxRemembered is the number of addresses, and of payers, that are remembered.
	maxRemembered = 50_000
)

// Config configures [Limits].
type Config struct {
	// PerSecond is the number of requests of one address per second that may have no effect,
	// with bursts of ten times as many. Required. Negative: no limit.
	PerSecond int
	// Proxies are the proxies that are trusted to report their clients. Default: none.
	Proxies clientaddr.Proxies
	// Clock returns the current time. Required.
	Clock func() time.Time
	// Logger logs a warning if requests name a proxy and Proxies is empty. Required.
	Logger *slog.Logger
	// Name begins the warning. Required.
	Name string
}

// Limits limits the requests of client addresses. Any client can sign transfers with random
// keys or send orders that are never paid, and the service counts them against the merchant.
// Without this limit one client could use up the merchant's limit for honest payers. It is
// safe for concurrent use.
//
// A request takes a token of its address before it causes a call, and returns the token if it
// is valid. A payer who has paid from the same address within the last hour takes no token,
// until one of its requests is refused.
type Limits struct {
	clock   func() time.Time
	logger  *slog.Logger
	name    string
	proxies clientaddr.Proxies
	rate    float64 // tokens a second; negative: no limit

	mu      sync.Mutex
	buckets recent[*bucket]
	proven  recent[time.Time] // by address and payer
	warned  bool
}

type bucket struct {
	tokens float64
	at     time.Time
}

// New returns limits whose buckets are all full.
func New(c Config) *Limits {
	return &Limits{clock: c.Clock, logger: c.Logger, name: c.Name, proxies: c.Proxies, rate: float64(c.PerSecond)}
}

// Pass records what a request was counted against. A nil Pass counts nothing.
type Pass struct {
	limits        *Limits
	address, pair string
	taken         bool
}

// Admit counts a request of a payer, which may be empty. If the address has no token left, it
// returns the time until the next one.
func (s *Limits) Admit(r *http.Request, payer string) (p *Pass, wait time.Duration) {
	if s.rate < 0 {
		return nil, 0
	}
	client := s.proxies.Client(r)
	p = &Pass{limits: s, address: clientaddr.Network(client)}
	p.pair = p.address + " " + strings.ToLower(payer)
	now := s.clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warn(r, client)
	if since, ok := s.proven.get(p.pair); ok && now.Sub(since) < provenFor {
		return p, 0
	}
	b := s.bucket(p.address, now)
	if b.tokens < 1 {
		return nil, time.Duration((1 - b.tokens) / s.rate * float64(time.Second))
	}
	b.tokens--
	p.taken = true
	return p, 0
}

// warn logs once that requests come through a proxy that the configuration does not name.
func (s *Limits) warn(r *http.Request, client netip.Addr) {
	if s.warned || len(s.proxies) > 0 || (r.Header["X-Forwarded-For"] == nil && r.Header["Forwarded"] == nil) {
		return
	}
	s.warned = true
	s.logger.WarnContext(r.Context(), "requests name a forwarding proxy, and TrustedProxies is empty: all clients of a proxy share one limit",
		slog.String("limit", s.name), slog.String("peer", client.String()))
}

// bucket returns the refilled bucket of an address. The caller holds the lock.
func (s *Limits) bucket(address string, now time.Time) *bucket {
	b, ok := s.buckets.get(address)
	if !ok {
		b = &bucket{tokens: s.rate * burstSeconds, at: now}
		s.buckets.set(address, b)
	}
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(b.tokens+passed.Seconds()*s.rate, s.rate*burstSeconds)
		b.at = now
	}
	return b
}

// Good returns the token, because the request is valid.
func (p *Pass) Good() {
	if p == nil || !p.taken {
		return
	}
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	p.taken = false
	b := p.limits.bucket(p.address, p.limits.clock())
	b.tokens = min(b.tokens+1, p.limits.rate*burstSeconds)
}

// Paid returns the token and remembers the payer.
func (p *Pass) Paid() {
	if p == nil {
		return
	}
	p.Good()
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	p.limits.proven.set(p.pair, p.limits.clock())
}

// Refused counts the request against its address, even if its payer was proven.
func (p *Pass) Refused() {
	if p == nil || p.taken {
		return
	}
	p.limits.mu.Lock()
	defer p.limits.mu.Unlock()
	p.taken = true
	p.limits.proven.set(p.pair, time.Time{})
	b := p.limits.bucket(p.address, p.limits.clock())
	b.tokens = max(b.tokens-1, 0)
}

// recent is a map of the most recently used entries: at least maxRemembered of them, and at
// most twice as many.
type recent[V any] struct{ young, old map[string]V }

func (r *recent[V]) get(name string) (V, bool) {
	if v, ok := r.young[name]; ok {
		return v, true
	}
	v, ok := r.old[name]
	if ok {
		r.set(name, v)
	}
	return v, ok
}

func (r *recent[V]) set(name string, v V) {
	if r.young == nil || len(r.young) >= maxRemembered {
		r.young, r.old = map[string]V{}, r.young
	}
	r.young[name] = v
}
