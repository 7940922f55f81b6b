package facilitator

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

const (
	// maxPayers bounds how many payers are remembered as good, and goodFor for how long.
	maxPayers = 100_000
	goodFor   = time.Hour
)

// limits bound how often the node is asked, so that nobody uses up what is another's.
//
// What fails before the payer is known counts against the client's address. A payment
// that the payer's key signed counts against that payer, and against the address only
// as long as no payment of the payer was good: keys cost nothing, so that they alone do
// not bound anything. A wallet without a key is known only once the node was asked, so
// that its payment counts against the address first; a good one is given back. The
// payee is never counted: anybody can name it. Requests with a merchant's credentials
// count against that merchant instead of the address, which others may share.
type limits struct {
	clock     Clock
	addresses callers
	merchants callers
	payers    *ratelimit.Limits // by payer
	good      *otter.Cache[string, time.Time]
}

func newLimits(c Config) *limits {
	return &limits{
		clock:     c.Clock,
		addresses: newCallers(policyAddress, "this address", c.PerAddress, c.Clock),
		merchants: newCallers(policyMerchant, "this merchant", c.PerSecond, c.Clock),
		payers:    ratelimit.New(ratelimit.Config{PerSecond: c.PerSecond, Clock: c.Clock}),
		good:      otter.Must(&otter.Options[string, time.Time]{MaximumSize: maxPayers}),
	}
}

// Policies are the names of the limits in the headers.
const (
	policyAddress  = "anonymous"
	policyMerchant = "merchant"
	policyPayer    = "payments"
)

// refused counts a request that failed before its payer was known, and returns the
// refusal, or that there were too many.
func (l *limits) refused(who caller, h http.Header, no *refusal) *refusal {
	a := who.strangers.Take(who.name)
	a.Header(h, who.policy)
	if !a.OK {
		return tooMany(who.called, a.Wait)
	}
	return no
}

// ticket is what a payment was counted against.
type ticket struct {
	payer  string
	signed bool
	who    caller
	by     *ratelimit.Limits // that counted the caller; nil if none did
}

// admit counts a payment that is read; signed reports whether the payer's key signed.
func (l *limits) admit(who caller, h http.Header, payer string, signed bool) (ticket, *refusal) {
	t := ticket{payer: strings.ToLower(payer), signed: signed, who: who}
	if signed {
		a := l.payers.Take(t.payer)
		a.Header(h, policyPayer)
		if !a.OK {
			return t, tooMany("this payer", a.Wait)
		}
		if since, ok := l.good.GetIfPresent(t.payer); ok && l.clock.Now().Sub(since) < goodFor {
			return t, nil
		}
		t.by = who.unproven
	} else {
		t.by = who.strangers
	}
	a := t.by.Take(who.name)
	if !a.OK || !signed {
		a.Header(h, who.policy)
	}
	if !a.OK {
		return t, tooMany(who.called, a.Wait)
	}
	return t, nil
}

// judged gives back what a payment was counted against, unless it was refused, and
// remembers the payer of a good one.
func (l *limits) judged(t ticket, good, unknown bool) {
	if t.by != nil && (good || unknown) {
		t.by.Return(t.who.name)
	}
	if good && t.signed {
		l.good.Set(t.payer, l.clock.Now())
	}
}

func tooMany(of string, wait time.Duration) *refusal {
	return &refusal{status: http.StatusTooManyRequests, message: "Too many requests of " + of + ". Retry-After says when to try again.", wait: wait}
}

// seconds is a wait as Retry-After has it, rounded up.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(int(math.Ceil(d.Seconds())), 1))
}
