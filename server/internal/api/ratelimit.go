package api

import (
	"context"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

// Limits limits the requests of each merchant, mandate and client address. Charges, other
// writes and reads are counted separately.
type Limits struct {
	// PerSecond is the rate of a merchant or a mandate, with bursts of twice the rate.
	// Default: 100.
	PerSecond int
	// PerAddress is the rate of a client address, for requests without credentials or with
	// wrong ones. Default: PerSecond.
	PerAddress int
}

func (l Limits) orDefault() Limits {
	if l.PerSecond == 0 {
		l.PerSecond = 100
	}
	if l.PerAddress == 0 {
		l.PerAddress = l.PerSecond
	}
	return l
}

// class is a kind of request that is counted separately.
type class string

const (
	charges     class = "charges"
	settlements class = "settlements"
	writes      class = "writes"
	reads       class = "reads"
	// tests covers webhook tests and redeliveries, which send requests to receivers.
	tests        class = "webhook-tests"
	redeliveries class = "redeliveries"
	// searches covers searches of the market without credentials, which are counted by address.
	searches class = "searches"
	// anonymous covers requests without credentials or with wrong ones, helpers the
	// sandbox's test helpers. Both are counted by address.
	anonymous class = "anonymous"
	helpers   class = "test-helpers"
)

// limiters holds one set of buckets per class, so that any number of strangers cannot evict
// the buckets of merchants.
type limiters map[class]*ratelimit.Limits

func newLimiters(l Limits, clock func() time.Time) limiters {
	l = l.orDefault()
	all := limiters{}
	for _, c := range []class{charges, settlements, writes, reads} {
		all[c] = ratelimit.New(ratelimit.Config{PerSecond: l.PerSecond, Clock: clock})
	}
	for _, c := range []class{anonymous, helpers, searches} {
		all[c] = ratelimit.New(ratelimit.Config{PerSecond: l.PerAddress, Clock: clock})
	}
	slow := max(l.PerSecond/100, 1)
	all[tests] = ratelimit.New(ratelimit.Config{PerSecond: slow, Burst: 20 * slow, Clock: clock})
	all[redeliveries] = ratelimit.New(ratelimit.Config{PerSecond: 10 * slow, Burst: 100 * slow, Clock: clock})
	return all
}

// take counts a request of a party and writes the rest of the limit to the headers. If the
// limit is used up, it returns the time to wait.
func (l limiters) take(h http.Header, party string, c class) (wait time.Duration, ok bool) {
	a := l[c].Take(party)
	a.Header(h, string(c))
	return a.Wait, a.OK
}

// takeRefused counts a request that the scopes of its caller do not permit.
func (l limiters) takeRefused(h http.Header, c caller, limit class) (wait time.Duration, ok bool) {
	if c.Merchant.ID == "" {
		return 0, true
	}
	return l.take(h, c.Merchant.ID, limit)
}

// takeAddress counts a request by its client's address. It returns an error if the limit is
// used up.
func (a *API) takeAddress(ctx context.Context, h http.Header, c class) error {
	if wait, ok := a.limits.take(h, httplog.ClientNetwork(ctx), c); !ok {
		return rateLimited(wait)
	}
	return nil
}

// stranger counts a request that was refused before its sender was known. It returns err,
// or an error if the limit is used up. Requests of a known sender never count here, so
// strangers at the same address cannot delay them.
func (a *API) stranger(ctx context.Context, h http.Header, err error) error {
	if limited := a.takeAddress(ctx, h, anonymous); limited != nil {
		return limited
	}
	return err
}
