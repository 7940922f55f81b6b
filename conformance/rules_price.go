package conformance

import (
	"context"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
)

func priceRules() []Rule {
	return []Rule{
		{
			ID: "price.agree", Title: "Every protocol asks the same price of one token", Source: "x402 v2 §5.1.2; " + draftCharge,
			Remedy: "Compute the price once and write it into each challenge.",
			check: checkAgree("price", func(o offer) string {
				if checkAmount(o) != "" {
					return "" // the rule of the amount reports it
				}
				return o.amount
			}),
		},
		{
			ID: "price.payee", Title: "Every protocol pays the same wallet on one chain", Source: "x402 v2 §5.1.2; " + draftEVM,
			Remedy: "Write the same wallet into each challenge; if you did not set it, somebody may have replaced it.",
			check:  checkAgree("payee", func(o offer) string { return strings.ToLower(o.payTo) }),
		},
		{
			ID: "price.stable", Title: "Two requests have the same price", Source: "MPP and bazaar directories, which list one price",
			Remedy: "Keep the price for at least as long as a challenge can be paid.",
			check:  checkStable,
		},
		{
			ID: "price.range", Title: "Clients pay the price without configuration", Source: "x402-fetch 1.2.0 and @x402/fetch 2.27.0, whose default limit is 1 USD; facilitators settle no dust",
			Remedy: "Ask between 0.001 and 1 USD, or say in your documentation which limit clients must raise.",
			check:  checkRange,
		},
	}
}

// token is one token on one chain.
type token struct {
	chainID int64
	address string
}

// checkAgree returns the check that a value is the same in all exact offers of one token.
func checkAgree(name string, value func(offer) string) func(context.Context, *probe) verdict {
	return func(ctx context.Context, p *probe) verdict {
		c, no := p.asked(ctx)
		if c == nil {
			return no
		}
		first := map[token]offer{}
		for _, o := range c.offers {
			t := token{o.chainID, strings.ToLower(o.asset)}
			if o.chainID == 0 || o.scheme() != x402.SchemeExact || value(o) == "" {
				continue
			}
			before, ok := first[t]
			if !ok {
				first[t] = o
				continue
			}
			if value(before) != value(o) {
				return fail("the %s of %s is %s, that of %s %s", name, before.protocol, quote(value(before)), o.protocol, quote(value(o)))
			}
		}
		if len(first) == 0 {
			return skip("no offer can be compared")
		}
		return pass("")
	}
}

// scheme returns the scheme of an offer. A charge of the Payment scheme pays exactly.
func (o offer) scheme() string {
	if o.protocol == payment2 {
		return x402.SchemeExact
	}
	return str(o.raw["scheme"])
}

func checkStable(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	e := p.ask(ctx, "again", p.cfg.Method, nil)
	if e.err != nil {
		return skip("the second request was not answered")
	}
	again := readChallenge(e)
	if len(again.offers) != len(c.offers) {
		return warn("the second challenge has %d offers, the first %d", len(again.offers), len(c.offers))
	}
	for i, o := range c.offers {
		if next := again.offers[i]; next.amount != o.amount {
			return warn("%s, %s: first %s, then %s", o.protocol, o.at, quote(o.amount), quote(next.amount))
		}
	}
	return pass("")
}

func checkRange(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	compared := false
	for _, o := range c.offers {
		known, ok := x402.USDC(o.chainID)
		if !ok || !x402.SameAddress(known.Address, o.asset) || !x402.IsAmount(o.amount) || o.amount == "0" {
			continue
		}
		compared = true
		switch {
		case x402.CompareAmounts(o.amount, "1000000") > 0:
			return warn("%s asks more than 1 USD", o.protocol)
		case x402.CompareAmounts(o.amount, "1000") < 0:
			return warn("%s asks less than 0.001 USD", o.protocol)
		}
	}
	if !compared {
		return skip("no price in USDC on Base")
	}
	return pass("")
}
