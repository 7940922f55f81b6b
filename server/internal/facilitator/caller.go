package facilitator

import (
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

// callers holds the limits of one kind of callers, keyed by the caller's name.
type callers struct {
	policy, called string
	strangers      *ratelimit.Limits // no verified signature
	unproven       *ratelimit.Limits // signed by a payer who has never paid
	known          *ratelimit.Limits // refused, signed by a payer who has paid before
}

func newCallers(policy, called string, perSecond int, clock func() time.Time) callers {
	c := ratelimit.Config{PerSecond: perSecond, Clock: clock}
	return callers{policy: policy, called: called, strangers: ratelimit.New(c), unproven: ratelimit.New(c), known: ratelimit.New(c)}
}

// caller identifies the sender of a request, as far as it is known.
type caller struct {
	callers

	name     string
	merchant string // id of the merchant whose credentials the request has; may be empty
}

// from calls an endpoint with the caller of a request: the merchant if the request has
// credentials, or the client's address if it has none. It refuses wrong credentials.
func (f *Facilitator) from(endpoint func(http.ResponseWriter, *http.Request, caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := caller{callers: f.limits.addresses, name: httplog.ClientNetwork(r.Context())}
		if f.config.Merchant != nil {
			merchantID, ok := f.config.Merchant(w, r)
			if !ok {
				return
			}
			if merchantID != "" {
				who = caller{f.limits.merchants, merchantID, merchantID}
			}
		}
		endpoint(w, r, who)
	}
}
