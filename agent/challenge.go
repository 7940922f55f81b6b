package agent

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// extensionMPPX is the x402 extension of a seller that speaks the Payment scheme too.
const extensionMPPX = "mppx"

// asked is the content of a 402, in whatever protocols it speaks.
type asked struct {
	two        *x402.PaymentRequired
	one        *x402.PaymentRequiredV1
	challenges []mpp.Challenge
	methods    []x402.Method // mandate and bundle
	unreadable []Dropped
}

// readChallenges reads every challenge of a 402. A seller that speaks one
// protocol badly may speak another well.
func readChallenges(h http.Header, body []byte) (a asked) {
	unreadable := func(way Way, err error) {
		a.unreadable = append(a.unreadable, Dropped{Way: way, Reason: "cannot be read: " + plain(err.Error())})
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

// readMethods takes the ways beyond x402 from the body, or from the header if the
// body is a page or absent.
func (a *asked) readMethods() {
	if a.one != nil {
		a.methods = a.one.PaymentMethods
	}
	if len(a.methods) > 0 || a.two == nil {
		return
	}
	methods, err := a.two.Methods()
	if err != nil {
		a.unreadable = append(a.unreadable, Dropped{Way: Mandate, Reason: "cannot be read: " + plain(err.Error())})
	}
	a.methods = methods
}

// empty reports whether the 402 speaks no protocol known here.
func (a asked) empty() bool { return a.two == nil && a.one == nil && len(a.challenges) == 0 }

// description is what the seller calls the resource.
func (a asked) description() string {
	switch {
	case a.two != nil:
		return plain(a.two.Resource.Description)
	case a.one != nil && len(a.one.Accepts) > 0:
		return plain(a.one.Accepts[0].Description)
	}
	return ""
}

// prefersMPP reports whether the seller speaks the Payment scheme as its own and
// x402 by translation, which it may bind more tightly than x402 says.
func (a asked) prefersMPP() bool {
	if a.two == nil {
		return false
	}
	_, ok := a.two.Extensions[extensionMPPX]
	return ok
}
