package agent

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// extensionMPPX is the x402 extension of sellers whose own protocol is the Payment scheme.
const extensionMPPX = "mppx"

// asked is the content of a 402 in all protocols.
type asked struct {
	two        *x402.PaymentRequired
	one        *x402.PaymentRequiredV1
	challenges []mpp.Challenge
	methods    []x402.Method // mandate and bundle
	unreadable []Dropped
}

// readChallenges reads every challenge of a 402. A malformed challenge does not affect
// the others.
func readChallenges(h http.Header, body []byte) (a asked) {
	unreadable := func(method Method, err error) {
		a.unreadable = append(a.unreadable, Dropped{Method: method, Reason: "cannot be read: " + plain(err.Error())})
	}
	if header := h.Get(x402.HeaderPaymentRequired); header != "" {
		two, err := x402.DecodePaymentRequired(header)
		if err == nil {
			a.two = &two
		} else {
			unreadable(X402, err)
		}
	}
	one, err := x402.DecodePaymentRequiredV1(body)
	var version struct {
		X402Version int `json:"x402Version"`
	}
	switch {
	case err == nil:
		a.one = &one
	case json.Unmarshal(body, &version) == nil && version.X402Version == x402.Version1:
		unreadable(X402V1, err)
	}
	a.challenges, err = mpp.ParseChallenges(h.Values(mpp.HeaderChallenge)...)
	if err != nil && !errors.Is(err, mpp.ErrNoChallenge) {
		unreadable(MPP, err)
	}
	a.readMethods()
	return a
}

// readMethods reads the methods beyond x402 from the body, or from the header if the
// body is a page or empty.
func (a *asked) readMethods() {
	if a.one != nil {
		a.methods = a.one.PaymentMethods
	}
	if len(a.methods) > 0 || a.two == nil {
		return
	}
	methods, err := a.two.Methods()
	if err != nil {
		a.unreadable = append(a.unreadable, Dropped{Method: Mandate, Reason: "cannot be read: " + plain(err.Error())})
	}
	a.methods = methods
}

// empty reports whether the 402 has no known challenge.
func (a asked) empty() bool { return a.two == nil && a.one == nil && len(a.challenges) == 0 }

// description returns the seller's description of the resource.
func (a asked) description() string {
	switch {
	case a.two != nil:
		return plain(a.two.Resource.Description)
	case a.one != nil && len(a.one.Accepts) > 0:
		return plain(a.one.Accepts[0].Description)
	}
	return ""
}

// prefersMPP reports whether the seller's own protocol is the Payment scheme, and x402
// only a translation, whose credentials it may bind more tightly than x402 specifies.
func (a asked) prefersMPP() bool {
	if a.two == nil {
		return false
	}
	_, ok := a.two.Extensions[extensionMPPX]
	return ok
}
