package api

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// Limits are the token bucket of each merchant. Charges, other writes and reads
// are counted apart.
type Limits struct {
	// PerSecond refills the bucket. Default: 100.
	PerSecond int
	// Burst is the bucket's size. Default: twice PerSecond.
	Burst int
}

func (l Limits) orDefault() Limits {
	if l.PerSecond == 0 {
		l.PerSecond = 100
	}
	if l.Burst == 0 {
		l.Burst = 2 * l.PerSecond
	}
	return l
}

// class is a kind of request that is counted by itself.
type class string

const (
	charges     class = "charges"
	settlements class = "settlements"
	writes      class = "writes"
	reads       class = "reads"
)

// maxBuckets bounds the memory; the merchants longest away lose theirs first,
// which are full again by then.
const maxBuckets = 100_000

type bucket struct {
	merchantID string
	class      class
}

type limiters struct {
	Limits

	clock   ledger.Clock
	buckets *otter.Cache[bucket, *rate.Limiter]
}

func newLimiters(l Limits, clock ledger.Clock) *limiters {
	return &limiters{
		Limits: l.orDefault(), clock: clock,
		buckets: otter.Must(&otter.Options[bucket, *rate.Limiter]{MaximumSize: maxBuckets}),
	}
}

// take counts a request, and says in the headers what is left
// (draft-ietf-httpapi-ratelimit-headers-10). Where nothing is left it returns
// how long to wait.
func (l *limiters) take(h http.Header, merchantID string, c class) (wait time.Duration, ok bool) {
	now := l.clock.Now()
	b, _ := l.buckets.ComputeIfAbsent(bucket{merchantID, c}, func() (*rate.Limiter, bool) {
		return rate.NewLimiter(rate.Limit(l.PerSecond), l.Burst), false
	})
	ok = b.AllowN(now, 1)
	left := b.TokensAt(now)
	full := math.Ceil((float64(l.Burst) - left) / float64(l.PerSecond))
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", c, l.Burst, (l.Burst+l.PerSecond-1)/l.PerSecond))
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", c, max(int(left), 0), int(full)))
	if ok {
		return 0, true
	}
	return time.Duration((1 - left) / float64(l.PerSecond) * float64(time.Second)), false
}
