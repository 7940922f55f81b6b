package paywall

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
)

// OpenAPI serves the openapi.json of everything that gates of this kind sell,
// with the prices (draft-payment-discovery-00): mount it at /openapi.json, and
// register the address with directories of the Payment scheme. Routes without
// [Discovery] are listed with their price alone. What it says is advice: the 402
// decides.
func (g *Gate) OpenAPI() http.Handler {
	return document(jsonType, func() ([]byte, error) { return json.Marshal(g.describeAll()) })
}

type openAPI struct {
	OpenAPI string                          `json:"openapi"`
	Info    map[string]string               `json:"info"`
	Servers []map[string]string             `json:"servers"`
	Service map[string]any                  `json:"x-service-info"`
	Paths   map[string]map[string]operation `json:"paths"`
}

type operation struct {
	Summary    string         `json:"summary,omitempty"`
	Payment    paymentInfo    `json:"x-payment-info"`
	Parameters []any          `json:"parameters,omitempty"`
	Body       map[string]any `json:"requestBody,omitempty"`
	Responses  map[string]any `json:"responses"`
}

// paymentInfo is x-payment-info: one offer. The amount is left out where it
// depends on the request.
type paymentInfo struct {
	Amount      string `json:"amount,omitempty"`
	Currency    string `json:"currency"`
	Description string `json:"description,omitempty"`
	Intent      string `json:"intent"`
	Method      string `json:"method"`
}

func (g *Gate) describeAll() openAPI {
	base := origin(g.route.Resource)
	doc := openAPI{
		OpenAPI: "3.1.0",
		Info:    map[string]string{"title": host(g.route.Resource), "version": "1.0.0"},
		Servers: []map[string]string{{"url": base}},
		Service: map[string]any{"docs": map[string]string{"homepage": base}},
		Paths:   map[string]map[string]operation{},
	}
	for _, r := range g.listing.all() {
		u, err := url.Parse(r.Resource)
		if err != nil || origin(r.Resource) != base {
			continue // one document describes one origin
		}
		path := u.EscapedPath()
		if path == "" {
			path = "/"
		}
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]operation{}
		}
		doc.Paths[path][strings.ToLower(r.method())] = g.describeRoute(r)
	}
	return doc
}

func (g *Gate) describeRoute(r Route) operation {
	op := operation{
		Payment: paymentInfo{Currency: g.asset.Address, Intent: mpp.IntentCharge, Method: mpp.MethodEVM},
		Responses: map[string]any{
			"200": map[string]any{"description": "What was paid for"},
			"402": map[string]any{"description": "Payment Required"},
		},
	}
	if r.PriceFunc == nil {
		if micros, err := parsePrice(r.Price); err == nil {
			op.Payment.Amount = baseUnits(micros, g.asset)
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
		op.Parameters = queryParameters(d.InputSchema)
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

// method is the HTTP method that a route is described with.
func (r Route) method() string {
	switch d := r.Discovery; {
	case d == nil || (d.Method == "" && d.BodyType == ""):
		return http.MethodGet
	case d.Method != "":
		return d.Method
	}
	return http.MethodPost
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

// queryParameters turns the schema of the query, an object's, into parameters.
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
