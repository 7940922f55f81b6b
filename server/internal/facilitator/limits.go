package facilitator

import (
	"net/http"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

const (
	// maxPayers limits the payers that are remembered as good; goodFor is the time for
	// which they are.
	maxPayers = 100_000
	goodFor   = time.Hour
)

// limits bounds the requests to the node, so that no caller can use up the limit of
// another.
//
// The client's address is always counted first, since a signature does not identify the
// sender: signatures are public once they are on the chain. A payment without a valid
// signature, or outside its window, counts against the address. A payment that the
// payer's key signed also counts against the payer. The address gets its token back
// unless the payment is refused; the payer does if the payment had expired or was settled
// before, since anyone can copy such a payment. The payee is never counted, since anyone
// can name it. Requests with a merchant's credentials count against that merchant instead
// of the address, which others may share.
type limits struct {
	clock     func() time.Time
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

// The names of the limits in the RateLimit headers.
const (
	policyAddress  = "anonymous"
	policyMerchant = "merchant"
	policyPayer    = "payments"
)

// refused counts a request that failed before its payer was known. It returns the refusal,
// or another one if there were too many.
func (l *limits) refused(who caller, h http.Header, no *refusal) *refusal {
	a := who.strangers.Take(who.name)
	a.Header(h, who.policy)
	if !a.OK {
		return tooMany(who.called, a.Wait)
	}
	return no
}

// ticket records the limits that a payment was counted against.
type ticket struct {
	payer  string
	signed bool
	who    caller
	by     *ratelimit.Limits // the limits that count the caller
	later  bool              // count the caller only if the payment is refused
}

// admit counts a payment. signed reports whether the payer's key signed it and its window
// is open.
func (l *limits) admit(who caller, h http.Header, payer string, signed bool) (ticket, *refusal) {
	t := ticket{payer: strings.ToLower(payer), signed: signed, who: who, by: who.strangers}
	if signed {
		t.by = who.unproven
		if since, ok := l.good.GetIfPresent(t.payer); ok && l.clock().Sub(since) < goodFor {
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
	if t.later { // the number of concurrent checks does not delay good payers
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

// judgment is the result of an admitted payment.
type judgment int

const (
	refused judgment = iota
	good
	unknown // the chain did not answer
	copied  // refused for a reason that also applies to a copy of the payment
)

// judged returns the tokens that a payment does not use up, and remembers the payer of a
// good one.
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
		l.good.Set(t.payer, l.clock())
	}
}

func tooMany(of string, wait time.Duration) *refusal {
	return &refusal{status: http.StatusTooManyRequests, message: "Too many requests of " + of + ". Retry-After says when to try again.", wait: wait}
}
