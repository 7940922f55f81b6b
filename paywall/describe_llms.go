package paywall

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// LLMs returns a handler that serves the routes of [Gate.OpenAPI] as llms.txt: prices and
// payment methods as text, for language models that explore a site. Mount it at /llms.txt,
// and OpenAPI at /openapi.json, to which it links. The 402 response is authoritative.
func (g *Gate) LLMs() http.Handler {
	return document("text/plain; charset=utf-8", func() ([]byte, error) { return []byte(g.describeInWords()), nil })
}

func (g *Gate) describeInWords() string {
	base := g.describedOrigin()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> Every address below costs money for each request, paid by the request itself.\n\n", host(base))
	b.WriteString("Ask without a credential first: the answer is 402, with the price and each way to pay. ")
	fmt.Fprintf(&b, "Then send the same request with one credential. Schemas: [openapi.json](%s/openapi.json).\n\n## What is sold\n\n", base)
	for _, r := range g.listing.all() {
		if res, err := newResource(r, g.origin, g.testMode); err != nil || res.origin != base {
			continue // one document describes one origin
		}
		price := "by the request"
		if r.PriceFunc == nil {
			price = r.Price + " USDC"
		}
		if r.Metered {
			price += " at most; a mandate pays what the request uses"
		}
		fmt.Fprintf(&b, "- `%s %s`: %s", r.method(), r.Resource, price)
		if r.Discovery != nil && r.Discovery.Description != "" {
			b.WriteString(". " + r.Discovery.Description)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## How to pay\n\n")
	for _, a := range g.offers.terms.accepts {
		fmt.Fprintf(&b, "- A wallet with %s on %s: x402 (`PAYMENT-SIGNATURE`, `X-PAYMENT`) or the Payment scheme (`Authorization: Payment`).\n", a.asset.Name, a.network.CAIP2)
	}
	fmt.Fprintf(&b, "- A mandate that a person signed at %s, bound to the payment: `%s`.\n", g.apiURL, HeaderMandate)
	if g.bundle != nil {
		fmt.Fprintf(&b, "- Requests bought in advance at %s: `%s`.\n", g.bundle.PurchaseURL, HeaderBundleToken)
	}
	return b.String()
}

// document returns a handler that serves a generated document.
func document(contentType string, write func() ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		data, err := write()
		if err != nil { // cannot happen: New has encoded the schemas
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set(keyContentType, contentType)
		h.Set(keyCacheControl, "public, max-age=300")
		h.Set(keyContentLength, strconv.Itoa(len(data)))
		_, _ = w.Write(data) // the client may have disconnected
	})
}
