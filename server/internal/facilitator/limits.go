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
// The client's address is counted first, always: signatures are public once they are on
// the chain, so that a signature alone does not show who sends it. A payment without a
// valid signature, or outside of its window, counts against the address. One that the
// payer's key signed counts against the payer too. The address gets its token back
// unless the payment is refused; the payer does if the payment was expired or settled
// before, since anybody can copy such a one. The payee is never counted: anybody can
// name it. Requests with a merchant's credentials count against that merchant instead of
// the address, which others may share.
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
	by     *ratelimit.Limits // that counts the caller
	later  bool              // the caller is counted if the payment is refused
}

// admit counts a payment that is read; signed reports whether the payer's key signed it
// and its window is open.
func (l *limits) admit(who caller, h http.Header, payer string, signed bool) (ticket, *refusal) {
	t := ticket{payer: strings.ToLower(payer), signed: signed, who: who, by: who.strangers}
	if signed {
		t.by = who.unproven
		if since, ok := l.good.GetIfPresent(t.payer); ok && l.clock.Now().Sub(since) < goodFor {
			t.by, t.later = who.known, true
		}
	}
	a := t.by.Take(who.name)
	if !a.OK || !signed {
		a.Header(h, who.policy)
	}
	if !a.OK {
		return t, tooMany(who.called, a.Wait)
	}
	if t.later { // good payers are not held up by how many of them are asked about at a time
		t.by.Return(who.name)
	}
	if !signed {
		return t, nil
	}
	a = l.payers.Take(t.payer)
	a.Header(h, policyPayer)
	if !a.OK {
		if !t.later {
			t.by.Return(who.name)
		}
		return t, tooMany("this payer", a.Wait)
	}
	return t, nil
}

// judgment is what became of a payment that was admitted.
type judgment int

const (
	refused judgment = iota
	good
	unknown // the chain gave no answer
	copied  // refused for a reason that a copy of the payer's payment has too
)

// judged gives back what a payment does not count against, and remembers the payer of
// a good one.
func (l *limits) judged(t ticket, j judgment) {
	counts := j == refused || j == copied
	switch {
	case t.later && counts:
		t.by.Take(t.who.name)
	case !t.later && !counts:
		t.by.Return(t.who.name)
	}
	if t.signed && j == copied {
		l.payers.Return(t.payer)
	}
	if t.signed && j == good {
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
