package paywall

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
)

// OpenAPI returns a handler that serves an openapi.json of the routes of this gate and of
// those derived from it, with prices (draft-payment-discovery-00). Mount it at
// /openapi.json, and register the address with directories of the Payment scheme. It lists
// routes whose gate is in use. Routes without [Discovery] have only a price, and routes
// without a Resource are not listed. The 402 response is authoritative.
func (g *Gate) OpenAPI() http.Handler {
	return document(jsonType, func() ([]byte, error) { return json.Marshal(g.describeAll()) })
}

type openAPI struct {
	OpenAPI string              `json:"openapi"`
	Info    map[string]string   `json:"info"`
	Servers []map[string]string `json:"servers"`
	Service map[string]any      `json:"x-service-info"`
	// Security is empty: a payment is no security scheme.
	Security []any                           `json:"security"`
	Paths    map[string]map[string]operation `json:"paths"`
}

type operation struct {
	Summary    string         `json:"summary,omitempty"`
	Payment    paymentInfo    `json:"x-payment-info"`
	Parameters []any          `json:"parameters,omitempty"`
	Body       map[string]any `json:"requestBody,omitempty"`
	Responses  map[string]any `json:"responses"`
}

// paymentInfo is x-payment-info: the offer in the first token. It has no amount if the price depends on the
// request.
type paymentInfo struct {
	Amount      string `json:"amount,omitempty"`
	Currency    string `json:"currency"`
	Description string `json:"description,omitempty"`
	Intent      string `json:"intent"`
	Method      string `json:"method"`
	// Metered reports that Amount is the most: a mandate pays what the request uses.
	Metered bool `json:"metered,omitzero"`
}

func (g *Gate) describeAll() openAPI {
	base := g.describedOrigin()
	doc := openAPI{
		OpenAPI:  "3.1.0",
		Info:     map[string]string{"title": host(base), "version": "1.0.0"},
		Servers:  []map[string]string{{"url": base}},
		Service:  map[string]any{"docs": map[string]string{"homepage": base}},
		Security: []any{},
		Paths:    map[string]map[string]operation{},
	}
	for _, r := range g.listing.all() {
		res, err := newResource(r, g.origin, g.testMode)
		if err != nil || res.origin != base {
			continue // one document describes one origin
		}
		path := strings.TrimPrefix(strings.ReplaceAll(r.Resource, "...}", "}"), base)
		if path == "" {
			path = "/"
		}
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]operation{}
		}
		doc.Paths[path][strings.ToLower(r.method())] = g.describeRoute(r, res.wildcards())
	}
	return doc
}

// describedOrigin returns the origin that the documents of a gate describe.
func (g *Gate) describedOrigin() string {
	if g.origin != "" {
		return g.origin
	}
	return origin(g.offers.terms.resource.sample())
}

func (g *Gate) describeRoute(r Route, wildcards []string) operation {
	op := operation{
		Payment: paymentInfo{Currency: g.accepts[0].asset.Address, Intent: mpp.IntentCharge, Method: mpp.MethodEVM, Metered: r.Metered},
		Responses: map[string]any{
			"200": map[string]any{"description": "What was paid for"},
			"402": map[string]any{"description": "Payment Required"},
		},
	}
	for _, name := range wildcards {
		op.Parameters = append(op.Parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	if r.PriceFunc == nil {
		if micros, err := parsePrice(r.Price); err == nil {
			op.Payment.Amount = baseUnits(micros, g.accepts[0].asset)
		}
	}
	d := r.Discovery
	if d == nil {
		return op
	}
	op.Summary, op.Payment.Description = d.Description, d.Description
	answer := map[string]any{"schema": d.Output.Schema}
	if d.Output.Example != nil {
		answer["example"] = d.Output.Example
	}
	op.Responses["200"] = map[string]any{"description": "What was paid for", "content": map[string]any{r.MimeType: answer}}
	if d.BodyType == "" {
		op.Parameters = append(op.Parameters, queryParameters(d.InputSchema)...)
		return op
	}
	body := map[string]any{}
	if d.InputSchema != nil {
		body["schema"] = d.InputSchema
	}
	if d.InputExample != nil {
		body["example"] = d.InputExample
	}
	op.Body = map[string]any{"required": true, "content": map[string]any{bodyMime(d.BodyType): body}}
	return op
}

func bodyMime(bodyType string) string {
	switch bodyType {
	case "form-data":
		return "multipart/form-data"
	case "text":
		return "text/plain"
	}
	return jsonType
}

// queryParameters converts the schema of the query to OpenAPI parameters.
func queryParameters(schema any) []any {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(data, &s) != nil {
		return nil
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	var out []any
	for _, name := range sortedKeys(s.Properties) {
		out = append(out, map[string]any{"name": name, "in": "query", "required": required[name], "schema": s.Properties[name]})
	}
	return out
}
