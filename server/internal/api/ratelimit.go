package api

import (
	"context"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// Limits bound how often one merchant, one mandate and one address may call. Charges,
// other writes and reads are counted apart.
type Limits struct {
	// PerSecond refills the bucket of a merchant or a mandate; the bucket's size is
	// twice that. Default: 100.
	PerSecond int
	// PerAddress refills the bucket of a client's address, which counts what comes
	// without credentials or with wrong ones. Default: PerSecond.
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

// class is a kind of request that is counted by itself.
type class string

const (
	charges     class = "charges"
	settlements class = "settlements"
	writes      class = "writes"
	reads       class = "reads"
	// tests and redeliveries have the service send requests to receivers.
	tests        class = "webhook-tests"
	redeliveries class = "redeliveries"
	// anonymous is what comes without credentials or with wrong ones, helpers are
	// calls of the sandbox's test helpers; both are counted by address.
	anonymous class = "anonymous"
	helpers   class = "test-helpers"
)

// limiters hold one set of buckets for each class, so that strangers, of whom there
// are any number, cannot push the buckets of merchants out of memory.
type limiters map[class]*ratelimit.Limits

func newLimiters(l Limits, clock ledger.Clock) limiters {
	l = l.orDefault()
	all := limiters{}
	for _, c := range []class{charges, settlements, writes, reads} {
		all[c] = ratelimit.New(ratelimit.Config{PerSecond: l.PerSecond, Clock: clock})
	}
	for _, c := range []class{anonymous, helpers} {
		all[c] = ratelimit.New(ratelimit.Config{PerSecond: l.PerAddress, Clock: clock})
	}
	slow := max(l.PerSecond/100, 1)
	all[tests] = ratelimit.New(ratelimit.Config{PerSecond: slow, Burst: 20 * slow, Clock: clock})
	all[redeliveries] = ratelimit.New(ratelimit.Config{PerSecond: 10 * slow, Burst: 100 * slow, Clock: clock})
	return all
}

// take counts a request of a party, and reports in the headers what is left. If
// nothing is left it returns how long to wait.
func (l limiters) take(h http.Header, party string, c class) (wait time.Duration, ok bool) {
	a := l[c].Take(party)
	a.Header(h, string(c))
	return a.Wait, a.OK
}

// takeAddress counts a request by its client's address. It returns an error if there
// were too many.
func (a *API) takeAddress(ctx context.Context, h http.Header, c class) error {
	if wait, ok := a.limits.take(h, clientaddr.Network(httplog.ClientAddr(ctx)), c); !ok {
		return rateLimited(wait)
	}
	return nil
}

// stranger counts a request that was refused before anybody was known to have sent it,
// and returns err, or that there were too many. A request that proves whose it is
// never counts here, so that strangers at the same address do not hold it up.
func (a *API) stranger(ctx context.Context, h http.Header, err error) error {
	if limited := a.takeAddress(ctx, h, anonymous); limited != nil {
		return limited
	}
	return err
}
