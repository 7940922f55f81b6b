package conformance

import (
	"context"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/mpp"
)

const (
	draftScheme = "draft-httpauth-payment-00"
	draftCharge = "draft-payment-intent-charge-00"
	draftEVM    = "draft-evm-charge-00"
)

func mppRules() []Rule {
	return []Rule{
		{
			ID: "mpp.challenge", Title: "Each challenge of the Payment scheme can be read", Source: draftScheme + "; RFC 9110 §11.6.1",
			Remedy: "Send id, realm, method, intent and request, each a quoted-string.",
			check:  checkChallenge,
		},
		{
			ID: "mpp.id", Title: "Two challenges have two ids", Source: draftScheme,
			Remedy: "Put a random value into opaque, or two payers share one challenge and the second is refused.",
			check:  checkID,
		},
		{
			ID: "mpp.realm", Title: "The realm is the host", Source: draftScheme + "; RFC 9110 §11.5",
			Remedy: "Set realm to the public host name of the endpoint.",
			check:  checkRealm,
		},
		{
			ID: "mpp.expires", Title: "A challenge expires, within a day", Source: draftScheme + "; RFC 3339",
			Remedy: "Set expires to a time in the near future, in RFC 3339.",
			check:  checkExpires,
		},
		{
			ID: "mpp.request", Title: "The request is canonical JSON in base64url without padding", Source: draftScheme + "; RFC 8785; RFC 4648 §5",
			Remedy: "Encode request as base64url without padding of JSON that is canonical by RFC 8785.",
			check:  each(payment2, checkRequest),
		},
		{
			ID: "mpp.amount", Title: "Each amount is a string of digits above zero", Source: draftCharge,
			Remedy: "Write amount in base units, as a string without sign, decimals or leading zeros.",
			check:  each(payment2, checkAmount),
		},
		{
			ID: "mpp.currency", Title: "The currency of a charge on an EVM chain is a token's address", Source: draftEVM,
			Remedy: "Set currency to the contract of the token, with a correct checksum.",
			check:  each(payment2, onEVM(func(o offer) string { return checkAddress(o, "currency", o.asset) })),
		},
		{
			ID: "mpp.recipient", Title: "The recipient of a charge on an EVM chain is an address", Source: draftEVM,
			Remedy: "Set recipient to your wallet, with a correct checksum.",
			check:  each(payment2, onEVM(func(o offer) string { return checkAddress(o, "recipient", o.payTo) })),
		},
		{
			ID: "mpp.chain", Title: "A charge on an EVM chain names the chain", Source: draftEVM,
			Remedy: "Set methodDetails.chainId to the number of the chain.",
			check: each(payment2, onEVM(func(o offer) string {
				if o.chainID == 0 {
					return "methodDetails.chainId is missing or no positive number"
				}
				return ""
			})),
		},
	}
}

// onEVM returns a check that skips other payment methods.
func onEVM(problem func(offer) string) func(offer) string {
	return func(o offer) string {
		if o.mpp.Method != mpp.MethodEVM || o.raw == nil {
			return ""
		}
		return problem(o)
	}
}

func checkChallenge(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return no
	case !c.has[payment2]:
		return skip("not offered")
	case c.broken[payment2] != nil:
		return fail("%v", c.broken[payment2])
	}
	return pass("%d challenges", len(c.mpp))
}

func checkID(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return no
	case len(c.mpp) == 0:
		return skip("not offered")
	}
	e := p.ask(ctx, "again", p.cfg.Method, nil)
	if e.err != nil {
		return skip("the second request was not answered")
	}
	again := readChallenge(e)
	seen := map[string]bool{}
	for _, m := range append(c.mpp, again.mpp...) {
		if seen[m.ID] {
			return fail("the id %s came twice", quote(m.ID))
		}
		seen[m.ID] = true
	}
	return pass("")
}

func checkRealm(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return no
	case len(c.mpp) == 0:
		return skip("not offered")
	}
	name := p.target.Hostname()
	for _, m := range c.mpp {
		if !strings.EqualFold(m.Realm, p.target.Host) && !strings.EqualFold(m.Realm, name) {
			return warn("the realm is %s, the host %s", quote(m.Realm), name)
		}
	}
	return pass("")
}

func checkExpires(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return no
	case len(c.mpp) == 0:
		return skip("not offered")
	}
	for _, m := range c.mpp {
		left := time.Duration(0)
		at, err := m.ExpiresAt()
		if err == nil {
			left = at.Sub(p.cfg.Clock())
		}
		switch {
		case err != nil:
			return fail("expires is %s", quote(m.Expires))
		case at.IsZero():
			return warn("a challenge has no expires")
		case left <= 0:
			return fail("expired at %s", at.UTC().Format(time.RFC3339))
		case left > 24*time.Hour:
			return warn("expires only in %s", left.Round(time.Hour))
		}
	}
	return pass("")
}

func checkRequest(o offer) string {
	data, err := mpp.DecodeBase64(o.mpp.Request)
	if err != nil {
		return "request is not base64url"
	}
	canonical, err := mpp.Canonical(data)
	switch {
	case err != nil || o.raw == nil:
		return "request is not an object of strict JSON"
	case string(canonical) != string(data):
		return "the JSON of request is not canonical"
	case strings.Contains(o.mpp.Request, "="):
		return "request has padding"
	}
	return ""
}
