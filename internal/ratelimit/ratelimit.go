// Package ratelimit counts requests in named token buckets, in bounded memory.
//
//	limits := ratelimit.New(ratelimit.Config{PerSecond: 100, Clock: clock})
//	answer := limits.Take("mer_…")
//	if !answer.OK {
//		// try again after answer.Wait
//	}
package ratelimit

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
)

// maxBuckets limits the memory of one [Limits]. The buckets unused for the longest time are
// dropped first, because they are full again by then.
const maxBuckets = 100_000

// Config configures [Limits].
type Config struct {
	// PerSecond is the number of tokens that a bucket gains per second. Required.
	PerSecond int
	// Burst is the size of a bucket. Default: twice PerSecond.
	Burst int
	// Clock returns the current time. Required.
	Clock func() time.Time
}

// Limits is a set of token buckets of one size. It is safe for concurrent use.
type Limits struct {
	config  Config
	buckets *otter.Cache[string, *bucket]
}

// New returns limits whose buckets are all full.
func New(c Config) *Limits {
	if c.Burst == 0 {
		c.Burst = 2 * c.PerSecond
	}
	return &Limits{config: c, buckets: otter.Must(&otter.Options[string, *bucket]{MaximumSize: maxBuckets})}
}

type bucket struct {
	mu     sync.Mutex
	tokens float64
	at     time.Time
}

// Answer reports the state of a bucket after a request.
type Answer struct {
	// OK reports whether a token was available.
	OK bool
	// Wait is the time until one is available. It is zero if OK.
	Wait time.Duration

	config Config
	left   float64
}

// Take takes a token from a bucket.
func (l *Limits) Take(name string) Answer {
	now := l.config.Clock()
	b, _ := l.buckets.ComputeIfAbsent(name, func() (*bucket, bool) {
		return &bucket{tokens: float64(l.config.Burst), at: now}, false
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(b.tokens+passed.Seconds()*float64(l.config.PerSecond), float64(l.config.Burst))
		b.at = now
	}
	a := Answer{config: l.config, OK: b.tokens >= 1}
	if a.OK {
		b.tokens--
	} else {
		a.Wait = time.Duration((1 - b.tokens) / float64(l.config.PerSecond) * float64(time.Second))
	}
	a.left = b.tokens
	return a
}

// Return gives back a token that [Limits.Take] took.
func (l *Limits) Return(name string) {
	b, ok := l.buckets.GetIfPresent(name)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+1, float64(l.config.Burst))
}

// Header writes the state of the bucket into a response's headers, with the name of its
// policy (draft-ietf-httpapi-ratelimit-headers-10).
func (a Answer) Header(h http.Header, policy string) {
	rate, burst := a.config.PerSecond, a.config.Burst
	full := math.Ceil((float64(burst) - a.left) / float64(rate))
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", policy, burst, (burst+rate-1)/rate))
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", policy, int(a.left), int(full)))
}
