package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// maxOffers is the maximum number of offers of one 402 that are considered.
const maxOffers = 64

// assetTransferMethod is the member of extra that selects a kind of transfer.
const assetTransferMethod, transferEIP3009 = "assetTransferMethod", "eip3009"

// listing holds the offers of a 402, cheapest first, and the dropped ones with their
// reasons.
type listing struct {
	offers  []Offer
	dropped []Dropped
}

func (l *listing) drop(method Method, network, format string, args ...any) {
	if len(l.dropped) < 2*maxOffers {
		l.dropped = append(l.dropped, Dropped{Method: method, Network: plain(network), Reason: plain(fmt.Sprintf(format, args...))})
	}
}

// add adds an offer. With a reason it is listed but not usable.
func (l *listing) add(o Offer, reason string) {
	if len(l.offers) == maxOffers {
		l.drop(o.Method, o.Network, "more than %d offers", maxOffers)
		return
	}
	o.Usable = reason == ""
	if !o.Usable {
		l.drop(o.Method, o.Network, "%s", reason)
	}
	l.offers = append(l.offers, o)
}

// list returns the offers of a 402 for a URL.
func (t *Transport) list(a asked, u *url.URL) (l listing) {
	l.dropped = slices.Clone(a.unreadable)
	t.listOwn(&l, a, u) // first: a mandate that the seller takes itself pays no transfer
	t.listV2(&l, a, u)
	t.listV1(&l, a, u)
	t.listMPP(&l, a, u)
	rank := func(o Offer) int {
		if o.Method == MPP && a.prefersMPP() {
			return slices.Index(allMethods(), X402)*2 - 1
		}
		return slices.Index(allMethods(), o.Method) * 2
	}
	slices.SortStableFunc(l.offers, func(x, y Offer) int {
		return cmp.Or(cmp.Compare(x.AmountMicros, y.AmountMicros), cmp.Compare(rank(x), rank(y)))
	})
	for i, o := range l.offers {
		if o.Usable && len(t.cfg.Methods) > 0 && !slices.Contains(t.cfg.Methods, o.Method) {
			l.offers[i].Usable = false
			l.drop(o.Method, o.Network, "Config.Methods leaves it out")
		}
	}
	return l
}

func (t *Transport) listV2(l *listing, a asked, u *url.URL) {
	if a.two == nil {
		return
	}
	for _, r := range a.two.Accepts {
		if method, _ := r.Extra[assetTransferMethod].(string); r.Scheme != x402.SchemeExact || (method != "" && method != transferEIP3009) {
			l.drop(X402, r.Network, "scheme %q %s is not supported", r.Scheme, method)
			continue
		}
		o := Offer{Method: X402, required: *a.two, accepts: r, resource: a.two.Resource.URL, Resource: otherThan(u, a.two.Resource.URL)}
		t.transfer(l, o, r.Network, r.Asset, r.PayTo, r.Amount)
	}
}

func (t *Transport) listV1(l *listing, a asked, u *url.URL) {
	if a.one == nil {
		return
	}
	for _, r := range a.one.Accepts {
		if r.Scheme != x402.SchemeExact {
			l.drop(X402V1, r.Network, "scheme %q is not supported", r.Scheme)
			continue
		}
		o := Offer{Method: X402V1, acceptsV1: r, resource: r.Resource, Resource: otherThan(u, r.Resource)}
		t.transfer(l, o, r.Network, r.Asset, r.PayTo, r.MaxAmountRequired)
	}
}

func (t *Transport) listMPP(l *listing, a asked, u *url.URL) {
	for _, c := range a.challenges {
		r, reason := t.chargeRequest(c, u)
		if reason != "" {
			l.drop(MPP, "", "%s", reason)
			continue
		}
		t.transfer(l, Offer{Method: MPP, challenge: c}, x402.NetworkOf(r.MethodDetails.ChainID).CAIP2, r.Currency, r.Recipient, r.Amount)
	}
}

// chargeRequest reads what an MPP challenge asks for, and returns the reason if it cannot
// be paid. A challenge of another realm was issued by another seller: the server that
// relays it would redeem the credential there.
func (t *Transport) chargeRequest(c mpp.Challenge, u *url.URL) (r mpp.ChargeRequest, reason string) {
	if c.Method != mpp.MethodEVM || c.Intent != mpp.IntentCharge {
		return r, fmt.Sprintf("method %q with intent %q is not supported", c.Method, c.Intent)
	}
	if !isRealm(c.Realm, u) {
		return r, fmt.Sprintf("its realm is %q, not the host asked", c.Realm)
	}
	data, err := mpp.DecodeBase64(c.Request)
	if err != nil || json.Unmarshal(data, &r) != nil || !x402.IsAmount(r.Amount) || r.MethodDetails.ChainID <= 0 {
		return r, "its request cannot be read"
	}
	types := r.MethodDetails.CredentialTypes
	if len(types) > 0 && !slices.Contains(types, mpp.CredentialAuthorization) {
		return r, "it takes no signed authorization"
	}
	if expires, err := c.ExpiresAt(); err != nil || (!expires.IsZero() && !t.cfg.Clock().Before(expires)) {
		return r, "it has expired"
	}
	return r, ""
}

// isRealm reports whether a realm is the host of a URL, with or without its port.
func isRealm(realm string, u *url.URL) bool {
	return strings.EqualFold(realm, u.Host) || strings.EqualFold(realm, u.Hostname()) || realm == Origin(u)
}

// transfer adds an offer that is paid by a signed transfer: of the wallet, or else of the
// mandate's session account at the service. If neither can pay the token, the offer is only
// listed. Without a wallet, a precision of six decimals is assumed, and the service checks it.
func (t *Transport) transfer(l *listing, o Offer, network, asset, payTo, amount string) {
	n, err := x402.ParseNetwork(network)
	if err != nil {
		l.drop(o.Method, network, "the network cannot be read")
		return
	}
	if o.PayTo, err = x402.ParseAddress(payTo); err != nil {
		l.drop(o.Method, n.CAIP2, "payTo: %v", err)
		return
	}
	o.Network, o.chainID = n.CAIP2, n.ChainID
	decimals, reason := 6, ""
	if t.cfg.Wallet == nil {
		reason = "no wallet is configured"
	} else if own, ok := t.cfg.Wallet.Asset(n.ChainID); !ok {
		reason = "the wallet has no token there"
	} else if !x402.SameAddress(own.Address, asset) {
		reason = "the wallet does not pay in token " + asset
	} else {
		o.asset, decimals = own, own.Decimals
	}
	if reason != "" && t.sellerService(l) != nil {
		o.byService, reason = true, ""
	}
	if o.AmountMicros = toMicros(amount, decimals); o.AmountMicros <= 0 {
		l.drop(o.Method, o.Network, "the amount is not positive")
		return
	}
	l.add(o, reason)
}

// listOwn adds the methods that are not x402: a bundle's credit, and a mandate. Only the
// first offer of each counts.
func (t *Transport) listOwn(l *listing, a asked, u *url.URL) {
	seen := map[string]bool{}
	for _, m := range a.methods {
		if m.Type != x402.MethodCreditBundle && m.Type != x402.MethodMandate {
			l.drop(Method(plain(m.Type)), "", "is an unknown payment method")
			continue
		}
		if seen[m.Type] {
			l.drop(Method(m.Type), "", "is offered more than once")
			continue
		}
		seen[m.Type] = true
		if m.Type == x402.MethodMandate {
			t.listMandate(l, a, m, u)
			continue
		}
		reason := ""
		if _, have := t.cfg.BundleTokens[Origin(u)]; !have {
			reason = "no bundle token is configured for this origin"
		}
		l.add(Offer{Method: Bundle}, reason)
	}
}

func (t *Transport) listMandate(l *listing, a asked, m x402.Method, u *url.URL) {
	resource, network, payTo := a.payee()
	n, err := x402.ParseNetwork(network)
	if m.Header != HeaderMandate || m.Currency != "usdc" || err != nil || !x402.IsAmount(m.Amount) {
		l.drop(Mandate, network, "the offer is not of a known form")
		return
	}
	o := Offer{Method: Mandate, AmountMicros: toMicros(m.Amount, 6), Network: n.CAIP2, Resource: otherThan(u, resource)}
	if o.PayTo, err = x402.ParseAddress(payTo); err != nil || o.AmountMicros == 0 {
		l.drop(Mandate, n.CAIP2, "payee or amount cannot be read")
		return
	}
	bound, ok := boundTo(resource, u)
	if !ok {
		l.drop(Mandate, n.CAIP2, "it is for another origin: %s", resource)
		return
	}
	o.resource = bound
	if len(a.challenges) > 0 {
		o.challenge = a.challenges[0]
	}
	reason := ""
	if t.cfg.Mandate == "" {
		reason = "no mandate is configured"
	}
	l.add(o, reason)
}

// payee returns the resource, network and wallet that a mandate would pay: those of the
// first x402 offer.
func (a asked) payee() (resource, network, payTo string) {
	switch {
	case a.one != nil && len(a.one.Accepts) > 0:
		r := a.one.Accepts[0]
		return r.Resource, r.Network, r.PayTo
	case a.two != nil && len(a.two.Accepts) > 0:
		r := a.two.Accepts[0]
		return a.two.Resource.URL, r.Network, r.PayTo
	}
	return "", "", ""
}

// boundTo returns a resource as an address of u's origin, and reports whether it is one.
// A server behind a proxy that terminates TLS names http although https was requested.
func boundTo(resource string, u *url.URL) (string, bool) {
	r, err := url.Parse(resource)
	if err != nil || r.User != nil {
		return "", false
	}
	if r.Scheme == "http" && u.Scheme == "https" {
		upgraded := *r
		upgraded.Scheme = "https"
		upgraded.Host = strings.TrimSuffix(upgraded.Host, ":80")
		if Origin(&upgraded) == Origin(u) {
			return upgraded.String(), true
		}
	}
	return resource, Origin(r) == Origin(u)
}

// otherThan returns a resource, without its query, if it is not the requested address.
func otherThan(u *url.URL, resource string) string {
	if resource == "" {
		return ""
	}
	bound, same := boundTo(resource, u)
	r, err := url.Parse(resource)
	if err != nil {
		return plain(resource)
	}
	if same {
		if r, err = url.Parse(bound); err == nil && cmp.Or(r.EscapedPath(), "/") == cmp.Or(u.EscapedPath(), "/") {
			return ""
		}
	}
	return plain(shown(r))
}
