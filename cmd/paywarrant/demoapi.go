package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
)

// demoAPI is a merchant's API behind a paywall.
type demoAPI struct {
	BaseURL string
	Routes  []demoRoute
	Bundle  bundleInfo

	listener *listener
	gate     *paywall.Gate
	routes   *http.ServeMux
	secrets  []string         // of the challenges, which end with the process
	clock    func() time.Time // the service's, which a test helper moves; nil: time.Now
}

type demoRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Price  string `json:"price"`

	metered     bool
	description string
	handler     http.HandlerFunc
	input       any
	output      any
}

// demoRoutes are what is sold. The report costs enough to be paid by card.
func demoRoutes() []demoRoute {
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	text := map[string]any{"type": "string"}
	return []demoRoute{
		{
			Method: "GET", Path: "/weather", Price: "0.01", description: "The weather now", handler: weather,
			output: object(map[string]any{"temperature": map[string]any{"type": "integer"}, "sky": text}),
		},
		{
			Method: "POST", Path: "/search", Price: "0.05", description: "A search that finds what it was asked for", handler: search,
			input: object(map[string]any{"query": text}), output: object(map[string]any{"query": text}),
		},
		{
			Method: "GET", Path: "/stream", Price: "0.002", description: "Five events, a tenth of a second apart", handler: stream,
			output: text,
		},
		{
			Method: "GET", Path: "/answer", Price: "0.10", metered: true, description: "A streamed answer, paid by the word", handler: answer,
			output: text,
		},
		{
			Method: "GET", Path: "/report", Price: "0.50", description: "The climate report of the month", handler: report,
			output: object(map[string]any{"title": text, "thanks": text}),
		},
	}
}

// newDemoAPI returns an API that is going to be served by l.
func newDemoAPI(l *listener) *demoAPI {
	return &demoAPI{BaseURL: l.origin(), Routes: demoRoutes(), listener: l, secrets: []string{rand.Text()}}
}

// start serves the API. hc reaches the service; nil for the default.
func (d *demoAPI) start(serviceURL string, m person, hc *http.Client, log *slog.Logger) error {
	mux, err := d.mux(serviceURL, m, hc, log)
	if err != nil {
		return err
	}
	d.routes = mux
	d.listener.serve(allowOrigins(mux), "", "")
	return nil
}

// allowOrigins lets scripts of every site call the API, and answers their preflights.
func allowOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
		h.Set("Access-Control-Allow-Headers", "Accept, Accept-Payment, Authorization, Content-Type, Idempotency-Key, PAYMENT-SIGNATURE, "+
			"Payment-Authorization, X-Bundle-Token, X-PAYMENT, X-Service-Mandate")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

func (d *demoAPI) mux(serviceURL string, m person, hc *http.Client, log *slog.Logger) (*http.ServeMux, error) {
	shop, err := newDemoShop(d.BaseURL, serviceURL, m, hc, d.clock, log)
	if err != nil {
		return nil, err
	}
	bundles := shop.CreditBundle()
	d.Bundle = bundleInfo{bundles.PurchaseURL, bundles.BalanceURL}
	mux := http.NewServeMux()
	mux.Handle(bundlesPath, shop.Purchase())
	mux.Handle(bundlesPath+"/balance", shop.Balance())
	first := d.route(d.Routes[0])
	config := paywall.Config{
		Price: first.Price, Resource: first.Resource, Discovery: first.Discovery, PayTo: m.PayTo, APIURL: serviceURL, TestMode: true,
		CreditBundle: bundles, Merchant: paywall.Merchant{ID: m.ID, APIKey: m.APIKey}, Logger: log,
		Secrets: d.secrets, HTTPClient: hc, Clock: d.clock,
	}
	gate, err := paywall.New(config)
	if err != nil {
		return nil, fmt.Errorf("gate %s: %w", first.Resource, err)
	}
	for i, r := range d.Routes {
		own := gate
		if i > 0 {
			own = gate.With(d.route(r))
		}
		mux.Handle(r.Method+" "+r.Path, own.Require(r.handler))
	}
	if err := d.trouble(mux, m, log); err != nil {
		return nil, err
	}
	if err := d.unserved(mux, config); err != nil {
		return nil, err
	}
	d.gate = gate
	mux.Handle("GET /{$}", http.RedirectHandler(serviceURL+"/", http.StatusFound))
	mux.Handle("/openapi.json", gate.OpenAPI())
	mux.Handle("/llms.txt", gate.LLMs())
	return mux, nil
}

// route is the price of a route and its description for directories.
func (d *demoAPI) route(r demoRoute) paywall.Route {
	discovery := &paywall.Discovery{
		Description: r.description, Method: r.Method, InputSchema: r.input, Output: paywall.Output{Schema: r.output},
	}
	if r.input != nil {
		discovery.BodyType = "json"
	}
	return paywall.Route{Price: r.Price, Metered: r.metered, Resource: d.BaseURL + r.Path, Discovery: discovery}
}

func (d *demoAPI) stop() error {
	err := d.listener.stop()
	if d.gate == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), slowTimeout)
	defer cancel()
	return errors.Join(err, d.gate.Shutdown(ctx))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func weather(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"temperature": 7, "sky": "cloudy"})
}

// search echoes its body.
func search(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil || !json.Valid(body) {
		http.Error(w, "the body must be JSON of at most 64 KiB", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have gone
}

func stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := range 5 {
		if _, err := fmt.Fprintf(w, "data: {\"event\":%d}\n\n", i+1); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// wordMicros is the price of a word of an answer, in micro-dollars.
const wordMicros = 1_500

// answer streams an answer word by word.
func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	meter := paywall.MeterFrom(r.Context())
	for word := range strings.FieldsSeq("It will be cloudy, with rain in the evening.") {
		if r.Context().Err() != nil || meter.AddUnits("word", 1, wordMicros) != nil {
			return // the client has gone, or the price is used up
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", word) // the client may have gone
		_ = http.NewResponseController(w).Flush()
	}
}

func report(w http.ResponseWriter, r *http.Request) {
	p, _ := paywall.PaymentFrom(r.Context())
	writeJSON(w, map[string]any{"title": "Climate report", "thanks": p.Payer})
}
