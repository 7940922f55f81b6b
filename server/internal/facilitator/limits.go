package facilitator

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

// maxBuckets bounds the memory; those longest unused go first, full again by then.
const maxBuckets = 100_000

// limits bound how often one party is asked about.
type limits struct {
	perSecond int
	clock     Clock
	buckets   *otter.Cache[string, *rate.Limiter]
}

func newLimits(c Config) *limits {
	return &limits{
		perSecond: c.PerSecond, clock: c.Clock,
		buckets: otter.Must(&otter.Options[string, *rate.Limiter]{MaximumSize: maxBuckets}),
	}
}

// take counts a question about a party in a role; the time to wait where there
// were too many.
func (l *limits) take(role, address string) (wait time.Duration, ok bool) {
	now := l.clock.Now()
	b, _ := l.buckets.ComputeIfAbsent(role+strings.ToLower(address), func() (*rate.Limiter, bool) {
		return rate.NewLimiter(rate.Limit(l.perSecond), 2*l.perSecond), false
	})
	if b.AllowN(now, 1) {
		return 0, true
	}
	return time.Duration((1 - b.TokensAt(now)) / float64(l.perSecond) * float64(time.Second)), false
}

// seconds is a wait as Retry-After has it, rounded up.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(int(math.Ceil(d.Seconds())), 1))
}
