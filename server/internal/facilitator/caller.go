package facilitator

import (
	"context"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

// callers are the limits of one kind of callers, each caller under its name.
type callers struct {
	policy, called string
	strangers      *ratelimit.Limits // nobody is known to have signed
	unproven       *ratelimit.Limits // signed, and the payer was never good
	known          *ratelimit.Limits // refused, of payers who were good
}

func newCallers(policy, called string, perSecond int, clock Clock) callers {
	c := ratelimit.Config{PerSecond: perSecond, Clock: clock}
	return callers{policy: policy, called: called, strangers: ratelimit.New(c), unproven: ratelimit.New(c), known: ratelimit.New(c)}
}

// caller is who sent a request, as far as it is known.
type caller struct {
	callers

	name string
}

// address returns the name under which requests of a client's address are counted.
func address(ctx context.Context) string { return clientaddr.Network(httplog.ClientAddr(ctx)) }

// from has an endpoint called with the caller of a request: the merchant whose
// credentials the request has, or its client's address if it has none. A request with
// wrong credentials goes no further.
func (f *Facilitator) from(endpoint func(http.ResponseWriter, *http.Request, caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := caller{f.limits.addresses, address(r.Context())}
		if f.config.Merchant != nil {
			merchantID, ok := f.config.Merchant(w, r)
			if !ok {
				return
			}
			if merchantID != "" {
				who = caller{f.limits.merchants, merchantID}
			}
		}
		endpoint(w, r, who)
	}
}
