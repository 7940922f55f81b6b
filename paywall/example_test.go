package paywall_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/paywarrant/paywarrant/paywall"
)

func weather(w http.ResponseWriter, r *http.Request) {
	p, _ := paywall.PaymentFrom(r.Context()) // p.Payer, p.Transaction, p.Network, p.Credential, p.AmountMicros
	_, _ = fmt.Fprintf(w, `{"temperature":7,"thanks":%q}`, p.Payer)
}

func Example() {
	gate, err := paywall.New(paywall.Config{
		Price:    "0.01", // USDC
		PayTo:    "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
		APIURL:   "https://sandbox.pay.example",
		TestMode: true,
		Resource: "https://api.example.com/weather",
		Secrets:  []string{"from the environment, 16 bytes or more"}, // binds challenges; first signs, all verify
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /weather", gate.Require(http.HandlerFunc(weather)))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/weather", http.NoBody))
	fmt.Println(answer.Code, answer.Header().Get("Cache-Control"))
	// Output: 402 no-store
}

func ExampleGate_With() {
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", APIURL: "https://pay.example",
		Resource: "https://api.example.com/weather",
	})
	if err != nil {
		log.Fatal(err)
	}
	in := map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []string{"q"}}
	out := map[string]any{"type": "object", "properties": map[string]any{"hits": map[string]any{"type": "array"}}}
	ex := map[string]any{"hits": []string{"a"}}
	searchHandler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

	mux := http.NewServeMux()
	search := gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/search", Discovery: &paywall.Discovery{
		Description: "Full-text search", InputSchema: in, BodyType: "json", Output: paywall.Output{Example: ex, Schema: out},
	}})
	mux.Handle("POST /search", search.Require(searchHandler))
	mux.Handle("GET /openapi.json", gate.OpenAPI())

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/search", http.NoBody))
	fmt.Println(answer.Code)
	// Output: 402
}
