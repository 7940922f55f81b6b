package conformance

import (
	"context"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

func corsRules() []Rule {
	return []Rule{
		{
			ID: "cors.expose", Title: "Scripts may read the headers of the challenge and of the receipt", Source: "Fetch, CORS protocol; x402 v2, HTTP transport",
			Remedy: "List the payment headers in Access-Control-Expose-Headers.",
			check:  checkExpose,
		},
		{
			ID: "cors.preflight", Title: "A preflight passes and allows the headers that pay", Source: "Fetch, CORS protocol",
			Remedy: "Answer OPTIONS with Origin without a payment, and list the payment headers in Access-Control-Allow-Headers.",
			check:  checkPreflight,
		},
		{
			ID: "cors.credentials", Title: "Cookies are not allowed for every origin", Source: "Fetch, CORS protocol and credentials",
			Remedy: "Do not send Access-Control-Allow-Credentials together with a wildcard or any origin that asks.",
			check:  checkCredentials,
		},
	}
}

// foreign is the origin of a site that the server does not know.
const foreign = "https://buyer.example"

// fromScript returns the answer to a script of another site, or a verdict if scripts of
// other sites are not served.
func (p *probe) fromScript(ctx context.Context) (*exchange, *challenge, verdict) {
	c, no := p.asked(ctx)
	if c == nil {
		return nil, nil, no
	}
	e := p.ask(ctx, "script", p.cfg.Method, http.Header{"Origin": {foreign}})
	if e.err != nil || (e.header.Get("Access-Control-Allow-Origin") != "*" && e.header.Get("Access-Control-Allow-Origin") != foreign) {
		return nil, nil, skip("scripts of other sites are not allowed")
	}
	return e, c, verdict{}
}

func checkExpose(ctx context.Context, p *probe) verdict {
	e, c, no := p.fromScript(ctx)
	if e == nil {
		return no
	}
	named := list(e.header, "Access-Control-Expose-Headers")
	if named["*"] {
		return pass("")
	}
	for _, answer := range []struct{ protocol, header string }{
		{version2, x402.HeaderPaymentRequired},
		{version2, x402.HeaderPaymentResponse},
		{version1, x402.HeaderPaymentResponseV1},
		{payment2, mpp.HeaderChallenge},
		{payment2, mpp.HeaderReceipt},
	} {
		if c.has[answer.protocol] && !named[strings.ToLower(answer.header)] {
			return fail("Access-Control-Expose-Headers does not name %s", answer.header)
		}
	}
	return pass("")
}

func checkPreflight(ctx context.Context, p *probe) verdict {
	e, c, no := p.fromScript(ctx)
	if e == nil {
		return no
	}
	e = p.ask(ctx, "preflight", http.MethodOptions, http.Header{
		"Origin": {foreign}, "Access-Control-Request-Method": {p.cfg.Method},
		"Access-Control-Request-Headers": {"authorization,payment-signature,x-payment"},
	})
	if e.err != nil || e.status < 200 || e.status > 299 {
		return fail("the preflight is answered %s", outcome(e))
	}
	allowed := list(e.header, "Access-Control-Allow-Headers")
	for _, m := range malformed {
		wildcard := allowed["*"] && m.header != mpp.HeaderCredential // which the wildcard does not cover
		if c.has[m.protocol] && !wildcard && !allowed[strings.ToLower(m.header)] {
			return fail("Access-Control-Allow-Headers does not name %s", m.header)
		}
	}
	return pass("")
}

func checkCredentials(ctx context.Context, p *probe) verdict {
	e, _, no := p.fromScript(ctx)
	switch {
	case e == nil:
		return no
	case e.header.Get("Access-Control-Allow-Credentials") == "true":
		return fail("the answer to %s has Access-Control-Allow-Credentials: true", foreign)
	}
	return pass("")
}
