package conformance

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

func httpRules() []Rule {
	return []Rule{
		{
			ID: "http.tls", Title: "The endpoint uses https", Source: "x402 v2, HTTP transport; RFC 9110 §17.1",
			Remedy: "Serve the endpoint over https, because a payment in clear text can be taken by anyone on the way.",
			check:  checkTLS,
		},
		{
			ID: "http.status", Title: "A request without a payment is answered 402", Source: "RFC 9110 §15.5.3; x402 v2, HTTP transport",
			Remedy: "Answer 402 before anything else is checked; give --method and --body if the endpoint needs them.",
			check:  checkStatus,
		},
		{
			ID: "http.protocol", Title: "The 402 asks for payment in x402 or MPP", Source: "x402 v2 §5.1; draft-httpauth-payment-00",
			Remedy: "Send PAYMENT-REQUIRED, a JSON body of x402 version 1, or WWW-Authenticate: Payment with the 402.",
			check:  checkProtocol,
		},
		{
			ID: "http.time", Title: "The 402 comes within two seconds", Source: "MPP and bazaar directories, which probe with time limits",
			Remedy: "Compute the challenge without calls to other services.",
			check:  checkTime,
		},
		{
			ID: "http.size", Title: "No header is longer than 8 KiB", Source: "RFC 9110 §5.4; the limits of common proxies",
			Remedy: "Shorten the schemas and examples of the challenge, because proxies refuse such headers.",
			check:  checkSize,
		},
		{
			ID: "http.head", Title: "HEAD is not served without a payment", Source: "RFC 9110 §9.3.2",
			Remedy: "Gate HEAD as GET is gated, or answer 405.",
			check:  checkHead,
		},
		{
			ID: "http.html", Title: "A browser gets the same 402", Source: "x402 v2, HTTP transport",
			Remedy: "Send the same status and payment headers whatever Accept says; only the body may differ.",
			check:  checkHTML,
		},
	}
}

func checkTLS(_ context.Context, p *probe) verdict {
	switch {
	case p.target.Scheme == "https":
		return pass("")
	case loopback.Name(p.target.Hostname()):
		return skip("plain http is fine on the loopback interface")
	}
	return fail("the address begins with http://")
}

func checkStatus(ctx context.Context, p *probe) verdict {
	e := p.plain(ctx)
	switch {
	case e.err != nil:
		return skip("the endpoint does not answer")
	case e.status == http.StatusPaymentRequired:
		return pass("")
	case e.status >= 300 && e.status < 400:
		return fail("answered %d to %s: give the final address", e.status, quote(e.header.Get("Location")))
	case e.status == http.StatusMethodNotAllowed:
		return fail("answered 405: %s is not allowed here, but %s is", p.cfg.Method, quote(e.header.Get("Allow")))
	case e.status >= 200 && e.status < 300:
		return fail("answered %d: the content is free", e.status)
	}
	return fail("answered %d", e.status)
}

func checkProtocol(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return no
	case len(c.has) == 0:
		return fail("none of the three challenges was found")
	}
	return pass("%v", c.protocols())
}

func checkTime(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	took := p.plain(ctx).took.Round(time.Millisecond)
	switch {
	case c == nil:
		return no
	case took > 2*time.Second:
		return warn("it took %s", took)
	}
	return pass("%s", took)
}

// maxHeader is the longest header that common proxies and servers pass on, in bytes.
const maxHeader = 8 << 10

func checkSize(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	for name, values := range p.plain(ctx).header {
		for _, value := range values {
			if n := len(name) + 2 + len(value); n > maxHeader {
				return fail("%s has %d bytes", quote(name), n)
			}
		}
	}
	return pass("")
}

func checkHead(ctx context.Context, p *probe) verdict {
	if c, no := p.asked(ctx); c == nil {
		return no
	}
	if p.cfg.Method != http.MethodGet {
		return skip("the endpoint is asked with %s", p.cfg.Method)
	}
	e := p.ask(ctx, "head", http.MethodHead, nil)
	switch {
	case e.err != nil:
		return warn("HEAD is not answered")
	case e.status >= 200 && e.status < 300:
		return warn("HEAD is answered %d: the handler runs for nothing", e.status)
	case e.status >= 500:
		return warn("HEAD is answered %d", e.status)
	}
	return pass("%d", e.status)
}

func checkHTML(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	e := p.ask(ctx, "html", p.cfg.Method, http.Header{
		"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, "User-Agent": {"Mozilla/5.0 paywarrant-validate"},
	})
	if e.err != nil || e.status != http.StatusPaymentRequired {
		return fail("a browser's request is answered %s", outcome(e))
	}
	for _, name := range []string{x402.HeaderPaymentRequired, mpp.HeaderChallenge} {
		if p.plain(ctx).header.Get(name) != "" && e.header.Get(name) == "" {
			return warn("a browser's 402 has no %s", name)
		}
	}
	return pass("")
}

// outcome returns the status of an exchange, or that there is none.
func outcome(e *exchange) string {
	if e.err != nil {
		return "not at all"
	}
	return fmt.Sprint(e.status)
}
