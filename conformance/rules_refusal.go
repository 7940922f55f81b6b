package conformance

import (
	"context"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

func refusalRules() []Rule {
	return []Rule{
		{
			ID: "refuse.malformed", Title: "A malformed credential is refused with 4xx", Source: "x402 v2, HTTP transport; " + draftScheme,
			Remedy: "Answer 400 or 402 to a credential that cannot be read, never 5xx.",
			check:  checkMalformed,
		},
		{
			ID: "refuse.problem", Title: "MPP: a malformed credential is answered 402 with a problem", Source: draftScheme + "; RFC 9457",
			Remedy: "Answer 402 with application/problem+json whose type begins with https://paymentauth.org/problems/.",
			check:  checkProblem,
		},
		{
			ID: "refuse.fresh", Title: "A refusal has a fresh challenge", Source: "x402 v2, HTTP transport; " + draftScheme,
			Remedy: "Send the challenges of a first request with every 402.",
			check:  checkFresh,
		},
		{
			ID: "refuse.long", Title: "A credential of 17 KiB is refused with 4xx", Source: "RFC 9110 §5.4",
			Remedy: "Limit the length of credentials before they are decoded, and answer 400 or 431.",
			check:  checkLong,
		},
		{
			ID: "refuse.unsigned", Title: "A payment without a valid signature is refused", Source: "x402, scheme exact on EVM; EIP-3009",
			Remedy: "Have the facilitator verify the payment, and serve only after it was settled.",
			check:  func(ctx context.Context, p *probe) verdict { return checkForged(ctx, p, "unsigned", unsigned) },
		},
		{
			ID: "refuse.unfunded", Title: "A payment from an empty wallet is refused", Source: "x402, scheme exact on EVM; X402SCOPE (USENIX Security 2026)",
			Remedy: "Serve only after the transfer was settled; a signature alone is no payment.",
			check:  func(ctx context.Context, p *probe) verdict { return checkForged(ctx, p, "unfunded", nil) },
		},
	}
}

// malformed are credentials that cannot be read, by protocol.
var malformed = []struct{ protocol, header, value string }{
	{version2, x402.HeaderPaymentSignature, "dGhpcyBpcyBub3QgYSBwYXltZW50"},
	{version1, x402.HeaderPayment, "dGhpcyBpcyBub3QgYSBwYXltZW50"},
	{payment2, mpp.HeaderCredential, mpp.Scheme + " dGhpcyBpcyBub3QgYSBwYXltZW50"},
}

// withMalformed returns the answer to a malformed credential of a protocol.
func (p *probe) withMalformed(ctx context.Context, protocol string) *exchange {
	for _, m := range malformed {
		if m.protocol == protocol {
			h := http.Header{}
			h.Set(m.header, m.value)
			return p.ask(ctx, "malformed "+protocol, p.cfg.Method, h)
		}
	}
	return p.plain(ctx)
}

// refused returns what is wrong with the refusal of a credential, or nothing.
func refused(e *exchange) string {
	switch {
	case e.err != nil:
		return "was not answered"
	case e.status >= 500:
		return "was answered " + outcome(e)
	case e.status < 400:
		return "was accepted with " + outcome(e)
	}
	return ""
}

func checkMalformed(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	for _, protocol := range c.protocols() {
		if found := refused(p.withMalformed(ctx, protocol)); found != "" {
			return fail("a malformed credential of %s %s", protocol, found)
		}
	}
	if len(c.has) == 0 {
		return skip("no protocol is offered")
	}
	return pass("")
}

func checkProblem(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return no
	case !c.has[payment2]:
		return skip("MPP is not offered")
	}
	e := p.withMalformed(ctx, payment2)
	if refused(e) != "" {
		return skip("a malformed credential is not refused")
	}
	body, _ := object(e.body)
	switch {
	case e.status != http.StatusPaymentRequired:
		return warn("the answer is %s", outcome(e))
	case !strings.HasPrefix(str(body["type"]), "https://paymentauth.org/problems/"):
		return warn("the problem's type is %s", quote(str(body["type"])))
	}
	return pass("")
}

func checkFresh(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	checked := false
	for _, protocol := range c.protocols() {
		e := p.withMalformed(ctx, protocol)
		if e.err != nil || e.status != http.StatusPaymentRequired {
			continue // a 400 needs no challenge
		}
		checked = true
		if !readChallenge(e).has[protocol] {
			return warn("the 402 after a malformed credential has no challenge of %s", protocol)
		}
	}
	if !checked {
		return skip("no malformed credential was answered 402")
	}
	return pass("")
}

func checkLong(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	for _, m := range malformed {
		if !c.has[m.protocol] {
			continue
		}
		if refused(p.withMalformed(ctx, m.protocol)) != "" {
			return skip("a short one is not refused either")
		}
		h := http.Header{}
		h.Set(m.header, m.value+strings.Repeat("A", 17<<10))
		e := p.ask(ctx, "long", p.cfg.Method, h)
		if e.err != nil {
			return warn("the connection was closed without an answer")
		}
		if found := refused(e); found != "" {
			return fail("a credential of 17 KiB %s", found)
		}
		return pass("%s", outcome(e))
	}
	return skip("no protocol is offered")
}

// unsigned removes the signature.
func unsigned(e *x402.Exact) { e.Signature = "0x" + strings.Repeat("00", 65) }

// checkForged pays each protocol with a wallet that owns nothing.
func checkForged(ctx context.Context, p *probe, name string, change func(*x402.Exact)) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	checked := false
	for _, protocol := range c.protocols() {
		o, ok := c.payable(protocol)
		if !ok {
			continue
		}
		h, err := p.forge(ctx, c, o, change)
		if err != nil {
			return skip("%s: %v", protocol, err)
		}
		checked = true
		e := p.ask(ctx, name+" "+protocol, p.cfg.Method, h)
		switch found := refused(e); {
		case e.err != nil || e.status >= 500:
			return warn("a payment of %s %s", protocol, found)
		case found != "":
			return fail("a payment of %s %s", protocol, found)
		}
	}
	if !checked {
		return skip("no offer of the scheme exact on an EVM chain")
	}
	return pass("")
}

// payable returns the first offer of a protocol that a transfer authorization can pay.
func (c *challenge) payable(protocol string) (offer, bool) {
	for _, o := range c.of(protocol) {
		if _, ok := o.token(); ok {
			return o, true
		}
	}
	return offer{}, false
}

// forge returns the payment of an offer by a wallet that owns nothing.
func (p *probe) forge(ctx context.Context, c *challenge, o offer, change func(*x402.Exact)) (http.Header, error) {
	if p.poor == nil {
		w, err := newPoorWallet(c.offers)
		if err != nil {
			return nil, err
		}
		p.poor = w
	}
	exact, err := sign(ctx, p.poor, o, p.transfer(o, p.poor.Address()))
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&exact)
	}
	return c.header(o, exact)
}
