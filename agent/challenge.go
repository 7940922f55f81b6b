package agent

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// asked is what a 402 says, of whatever protocols it speaks.
type asked struct {
	two        *x402.PaymentRequired
	one        *x402.PaymentRequiredV1
	challenges []mpp.Challenge
}

// readChallenges reads what can be read and leaves out what cannot: a seller that
// speaks one protocol badly may speak another well.
func readChallenges(h http.Header, body []byte) (a asked) {
	if two, err := x402.DecodePaymentRequired(h.Get(x402.HeaderPaymentRequired)); err == nil {
		a.two = &two
	}
	if one, err := x402.DecodePaymentRequiredV1(body); err == nil {
		a.one = &one
	}
	if list, err := mpp.ParseChallenges(h.Values(mpp.HeaderChallenge)...); err == nil {
		a.challenges = list
	}
	return a
}

// empty tells that the 402 is of no protocol known here.
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

// offers lists the ways to pay for a URL. An offer for a resource of another
// origin is left out: whoever relays it would spend the agent's money there.
func (t *Transport) offers(a asked, u *url.URL) []Offer {
	all := t.offersV2(a, u)
	all = append(all, t.offersV1(a, u)...)
	all = append(all, t.offersMPP(a, u)...)
	all = append(all, t.offersOwn(a, u)...)
	slices.SortStableFunc(all, func(x, y Offer) int {
		switch {
		case x.AmountMicros != y.AmountMicros && x.AmountMicros < y.AmountMicros:
			return -1
		case x.AmountMicros != y.AmountMicros:
			return 1
		}
		return slices.Index(allWays(), x.Way) - slices.Index(allWays(), y.Way)
	})
	for i := range all {
		all[i].Usable = all[i].Usable && (len(t.cfg.Ways) == 0 || slices.Contains(t.cfg.Ways, all[i].Way))
	}
	return all
}

func (t *Transport) offersV2(a asked, u *url.URL) (all []Offer) {
	if a.two == nil || !sameOrigin(a.two.Resource.URL, u) {
		return nil
	}
	for _, r := range a.two.Accepts {
		if r.Scheme != x402.SchemeExact {
			continue
		}
		o := Offer{Way: X402, required: *a.two, accepts: r, resource: a.two.Resource.URL}
		if t.transfer(&o, r.Network, r.Asset, r.PayTo, r.Amount) {
			all = append(all, o)
		}
	}
	return all
}

func (t *Transport) offersV1(a asked, u *url.URL) (all []Offer) {
	if a.one == nil {
		return nil
	}
	for _, r := range a.one.Accepts {
		if r.Scheme != x402.SchemeExact || !sameOrigin(r.Resource, u) {
			continue
		}
		o := Offer{Way: X402V1, acceptsV1: r, resource: r.Resource}
		if t.transfer(&o, r.Network, r.Asset, r.PayTo, r.MaxAmountRequired) {
			all = append(all, o)
		}
	}
	return all
}

func (t *Transport) offersMPP(a asked, u *url.URL) (all []Offer) {
	for _, c := range a.challenges {
		if c.Method != mpp.MethodEVM || c.Intent != mpp.IntentCharge {
			continue
		}
		var r mpp.ChargeRequest
		data, err := mpp.DecodeBase64(c.Request)
		if err != nil || json.Unmarshal(data, &r) != nil || !x402.IsAmount(r.Amount) {
			continue
		}
		types := r.MethodDetails.CredentialTypes
		if len(types) > 0 && !slices.Contains(types, mpp.CredentialAuthorization) {
			continue
		}
		if expires, err := c.ExpiresAt(); err != nil || (!expires.IsZero() && !t.cfg.Clock.Now().Before(expires)) {
			continue
		}
		o := Offer{Way: MPP, challenge: c, resource: origin(u)}
		if r.MethodDetails.ChainID > 0 && t.transfer(&o, x402.NetworkOf(r.MethodDetails.ChainID).CAIP2, r.Currency, r.Recipient, r.Amount) {
			all = append(all, o)
		}
	}
	return all
}

// transfer fills in an offer that is paid by a signed transfer; false where it
// cannot be understood. Without a wallet for the token it counts six decimals, as
// dollars on chain have, and is only shown.
func (t *Transport) transfer(o *Offer, network, asset, payTo, amount string) bool {
	n, err := x402.ParseNetwork(network)
	if err != nil {
		return false
	}
	if o.PayTo, err = x402.ParseAddress(payTo); err != nil {
		return false
	}
	o.Network, o.chainID = n.CAIP2, n.ChainID
	decimals := 6
	if t.cfg.Wallet != nil {
		if own, ok := t.cfg.Wallet.Asset(n.ChainID); ok && x402.SameAddress(own.Address, asset) {
			o.asset, o.Usable, decimals = own, true, own.Decimals
		}
	}
	o.AmountMicros = toMicros(amount, decimals)
	return o.AmountMicros > 0
}

// offersOwn are the ways of version 1's body that are not x402.
func (t *Transport) offersOwn(a asked, u *url.URL) (all []Offer) {
	if a.one == nil {
		return nil
	}
	for _, m := range a.one.PaymentMethods {
		switch m.Type {
		case x402.MethodCreditBundle:
			_, have := t.cfg.BundleTokens[origin(u)]
			all = append(all, Offer{Way: Bundle, Usable: have})
		case x402.MethodMandate:
			if m.Header != HeaderMandate || m.Currency != "usdc" || len(a.one.Accepts) == 0 {
				continue
			}
			r := a.one.Accepts[0]
			n, err := x402.ParseNetwork(r.Network)
			payTo, errPayTo := x402.ParseAddress(r.PayTo)
			if err != nil || errPayTo != nil || !x402.IsAmount(m.Amount) || !sameOrigin(r.Resource, u) {
				continue
			}
			o := Offer{Way: Mandate, AmountMicros: toMicros(m.Amount, 6), PayTo: payTo, Network: n.CAIP2, resource: r.Resource, Usable: t.cfg.Mandate != ""}
			if len(a.challenges) > 0 {
				o.challenge = a.challenges[0]
			}
			if o.AmountMicros > 0 {
				all = append(all, o)
			}
		}
	}
	return all
}

// sameOrigin tells whether a resource is one of the origin that was asked.
func sameOrigin(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	return err == nil && r.User == nil && origin(r) == origin(u)
}
