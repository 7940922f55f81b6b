package conformance

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
)

const draftDiscovery = "draft-payment-discovery-00"

func discoveryRules() []Rule {
	return []Rule{
		{
			ID: "discovery.bazaar", Title: "The challenge declares the endpoint to x402 directories", Source: "x402 v2, extension bazaar",
			Remedy: "Declare the extension bazaar with info and a schema that info fits.",
			check:  checkBazaar,
		},
		{
			ID: "discovery.output", Title: "The declaration describes the output", Source: "x402 v2, extension bazaar",
			Remedy: "Declare the schema or an example of the output, because directories refuse entries without it.",
			check:  checkOutput,
		},
		{
			ID: "discovery.openapi", Title: "/openapi.json is an OpenAPI 3 document", Source: draftDiscovery + "; OpenAPI 3.1 §4.8.1",
			Remedy: "Serve an OpenAPI document at /openapi.json of the same host.",
			check:  checkOpenAPI,
		},
		{
			ID: "discovery.path", Title: "The document lists the endpoint", Source: draftDiscovery,
			Remedy: "Add the path and the method of the endpoint to the document.",
			check:  checkListed,
		},
		{
			ID: "discovery.payment", Title: "The operation has x-payment-info", Source: draftDiscovery,
			Remedy: "Add x-payment-info with amount, currency, intent and method to the operation.",
			check:  checkPaymentInfo,
		},
		{
			ID: "discovery.price", Title: "The document has the price of the challenge", Source: draftDiscovery,
			Remedy: "Generate the document and the challenge from one price, or leave amount out if the price varies.",
			check:  checkListedPrice,
		},
		{
			ID: "discovery.answer", Title: "The operation lists the response 402", Source: draftDiscovery,
			Remedy: `Add "402" to the responses of the operation.`,
			check:  checkListed402,
		},
	}
}

// bazaar returns the declaration of the endpoint, or a verdict if there is none.
func (p *probe) bazaar(ctx context.Context) (map[string]any, verdict) {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return nil, no
	case c.two == nil:
		return nil, skip("x402 v2 is not offered")
	}
	extensions, _ := c.two["extensions"].(map[string]any)
	e, _ := extensions[x402.ExtensionBazaar].(map[string]any)
	if e == nil {
		return nil, warn("the extension bazaar is missing")
	}
	return e, verdict{}
}

func checkBazaar(ctx context.Context, p *probe) verdict {
	e, no := p.bazaar(ctx)
	if e == nil {
		return no
	}
	var x x402.Extension
	data, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(data, &x)
	}
	if err == nil {
		err = x.Validate()
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "$ref"):
		return skip("%v", err) // the schema may be valid
	case err != nil:
		return fail("%v", err)
	}
	return pass("")
}

func checkOutput(ctx context.Context, p *probe) verdict {
	e, no := p.bazaar(ctx)
	if e == nil {
		return skip("%s", no.detail)
	}
	info, _ := e["info"].(map[string]any)
	output, _ := info["output"].(map[string]any)
	schema, _ := e["schema"].(map[string]any)
	for _, name := range []string{"properties", "output", "properties", "example"} {
		schema, _ = schema[name].(map[string]any)
	}
	if output["example"] == nil && output["schema"] == nil && len(schema) == 0 {
		return warn("the declaration has neither a schema nor an example of the output")
	}
	return pass("")
}

// document returns the OpenAPI document, or a verdict if there is none.
func (p *probe) document(ctx context.Context) (map[string]any, verdict) {
	e, ok := p.exchanges["openapi"]
	if !ok {
		e = p.send(ctx, http.MethodGet, p.address("/openapi.json"), nil, p.cfg.Timeout)
		p.exchanges["openapi"] = e
	}
	if e.err != nil || e.status != http.StatusOK {
		return nil, warn("/openapi.json is answered %s", outcome(e))
	}
	doc, err := object(e.body)
	switch {
	case e.cut:
		return nil, fail("longer than %d bytes", maxBody)
	case err != nil:
		return nil, fail("%v", err)
	case !strings.HasPrefix(str(doc["openapi"]), "3."):
		return nil, fail("openapi is %s", quote(str(doc["openapi"])))
	}
	return doc, verdict{}
}

func checkOpenAPI(ctx context.Context, p *probe) verdict {
	doc, no := p.document(ctx)
	if doc != nil {
		return pass("")
	}
	if c, _ := p.asked(ctx); c != nil && c.has[payment2] {
		no.status = Fail // directories of MPP read nothing else
	}
	return no
}

// operation returns the operation of the endpoint, or a verdict if there is none.
func (p *probe) operation(ctx context.Context) (map[string]any, verdict) {
	doc, _ := p.document(ctx)
	if doc == nil {
		return nil, skip("there is no OpenAPI document")
	}
	paths, _ := doc["paths"].(map[string]any)
	var found map[string]any
	for template, item := range paths {
		if exact := template == p.target.Path; exact || (found == nil && fits(template, p.target.Path)) {
			found, _ = item.(map[string]any)
			if exact {
				break
			}
		}
	}
	operation, _ := found[strings.ToLower(p.cfg.Method)].(map[string]any)
	return operation, verdict{}
}

// fits reports whether a path is one of a template: /reports/{id}.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		if segment != got[i] && (!strings.Contains(segment, "{") || got[i] == "") {
			return false
		}
	}
	return true
}

func checkListed(ctx context.Context, p *probe) verdict {
	operation, no := p.operation(ctx)
	switch {
	case no.status != "":
		return no
	case operation == nil:
		return warn("the document has no %s %s", p.cfg.Method, quote(p.target.Path))
	}
	return pass("")
}

// paymentInfo returns the offers of x-payment-info, or a verdict if there are none.
func (p *probe) paymentInfo(ctx context.Context) ([]map[string]any, verdict) {
	operation, _ := p.operation(ctx)
	if operation == nil {
		return nil, skip("the document does not list the endpoint")
	}
	info, _ := operation["x-payment-info"].(map[string]any)
	if info == nil {
		return nil, warn("x-payment-info is missing")
	}
	offers := []map[string]any{info}
	if several, ok := info["offers"].([]any); ok {
		offers = nil
		for _, entry := range several {
			if o, ok := entry.(map[string]any); ok {
				offers = append(offers, o)
			}
		}
	}
	if len(offers) == 0 {
		return nil, fail("x-payment-info has no offer")
	}
	return offers, verdict{}
}

func checkPaymentInfo(ctx context.Context, p *probe) verdict {
	offers, no := p.paymentInfo(ctx)
	if offers == nil {
		return no
	}
	for _, o := range offers {
		amount, has := o["amount"]
		if _, ok := amount.(string); has && amount != nil && (!ok || !x402.IsAmount(str(amount))) {
			return fail("amount is not a string of digits")
		}
		if str(o["intent"]) == "" || str(o["method"]) == "" {
			return fail("intent or method is missing")
		}
	}
	return pass("")
}

func checkListedPrice(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	offers, no := p.paymentInfo(ctx)
	if offers == nil {
		return skip("%s", no.detail)
	}
	asked, compared := map[string]bool{}, false
	for _, o := range c.offers {
		asked[o.amount] = true
	}
	for _, o := range offers {
		amount := str(o["amount"])
		if !x402.IsAmount(amount) {
			continue
		}
		compared = true
		if !asked[amount] {
			return fail("the document has the price %s, the challenge has another", quote(amount))
		}
	}
	if !compared {
		return skip("the document has no price")
	}
	return pass("")
}

func checkListed402(ctx context.Context, p *probe) verdict {
	operation, _ := p.operation(ctx)
	if operation == nil {
		return skip("the document does not list the endpoint")
	}
	if responses, _ := operation["responses"].(map[string]any); responses["402"] == nil {
		return warn("the operation lists no response 402")
	}
	return pass("")
}
