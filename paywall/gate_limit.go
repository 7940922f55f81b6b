package paywall

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

// clientLimits limits the invalid transfers that a client address may send to the
// facilitator. Any client can sign transfers with random keys, and the facilitator counts
// invalid ones against the gate's merchant. Without this limit one client could use up the
// merchant's limit for honest payers.
//
// A transfer takes a token of its address before the first call to the facilitator, and
// returns the token if the transfer is valid. A payer who has paid from the same address
// within the last hour takes no token, until one of its transfers is refused.
type clientLimits struct {
	clock   func() time.Time
	logger  *slog.Logger
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

func newClientLimits(c Config) *clientLimits {
	return &clientLimits{clock: c.Clock, logger: c.Logger, proxies: c.TrustedProxies, rate: float64(c.UnprovenPerSecond)}
}

// pass records what a transfer was counted against. A nil pass counts nothing.
type pass struct {
	*clientLimits
	address, pair string
	taken         bool
}

// admit counts a transfer of a payer. If the address has no token left, it returns the time
// until the next one.
func (s *clientLimits) admit(r *http.Request, payer string) (p *pass, wait time.Duration) {
	if s.rate < 0 {
		return nil, 0
	}
	client := s.proxies.Client(r)
	p = &pass{clientLimits: s, address: clientaddr.Network(client)}
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
func (s *clientLimits) warn(r *http.Request, client netip.Addr) {
	if s.warned || len(s.proxies) > 0 || (r.Header["X-Forwarded-For"] == nil && r.Header["Forwarded"] == nil) {
		return
	}
	s.warned = true
	s.logger.WarnContext(r.Context(), "paywall: requests name a forwarding proxy, and TrustedProxies is empty: all clients of a proxy share one limit",
		slog.String("peer", client.String()))
}

// bucket returns the refilled bucket of an address. The caller holds the lock.
func (s *clientLimits) bucket(address string, now time.Time) *bucket {
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

// good returns the token, because the transfer is valid.
func (p *pass) good() {
	if p == nil || !p.taken {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = false
	b := p.bucket(p.address, p.clock())
	b.tokens = min(b.tokens+1, p.rate*burstSeconds)
}

// paid returns the token and remembers the payer.
func (p *pass) paid() {
	if p == nil {
		return
	}
	p.good()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proven.set(p.pair, p.clock())
}

// refused counts the transfer against its address, even if its payer was proven.
func (p *pass) refused() {
	if p == nil || p.taken {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	p.proven.set(p.pair, time.Time{})
	b := p.bucket(p.address, p.clock())
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
