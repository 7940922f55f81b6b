package paywall_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// exampleConfig sells https://api.example.com. Its settler accepts every payment, so that
// the examples run without the service.
var exampleConfig = paywall.Config{
	Price: "0.01", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", APIURL: "https://sandbox.pay.example", TestMode: true,
	Origin: "https://api.example.com", Settler: acceptAll{},
}

type acceptAll struct{}

func (acceptAll) SettleTransfer(_ context.Context, _ x402.FacilitatorRequest) (x402.Settlement, error) {
	return x402.Settlement{Success: true, Transaction: fmt.Sprintf("0x%064x", 1), Network: "eip155:84532"}, nil
}

func (acceptAll) SettleMandate(context.Context, client.PaywallSettlementParams) (paywall.MandateSettlement, error) {
	return paywall.MandateSettlement{}, errors.New("not in this example")
}

// get sends a request to a gated handler, and pays if it is asked to.
func get(h http.Handler, target string) *httptest.ResponseRecorder {
	asked := httptest.NewRecorder()
	h.ServeHTTP(asked, httptest.NewRequest(http.MethodGet, target, http.NoBody))
	if asked.Code != http.StatusPaymentRequired {
		return asked
	}
	fmt.Println("asked for", amountOf(asked))
	paid := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	paid.Header.Set(x402.HeaderPaymentSignature, signature(asked)) // an agent.Transport does this
	served := httptest.NewRecorder()
	h.ServeHTTP(served, paid)
	return served
}

// A price that depends on the request.
func ExampleConfig_priceFunc() {
	cfg := exampleConfig
	cfg.PriceFunc = func(r *http.Request) (string, error) {
		if r.URL.Query().Get("quality") == "high" {
			return "0.10", nil
		}
		return "", nil // Config.Price
	}
	gate := paywall.Must(paywall.New(cfg))
	image := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "an image") }))
	fmt.Println(get(image, "/image").Body)
	fmt.Println(get(image, "/image?quality=high").Body)
	// Output:
	// asked for 10000
	// an image
	// asked for 100000
	// an image
}

// Subscribers are served without payment, and payments are counted.
func ExampleConfig_skip() {
	cfg := exampleConfig
	cfg.Skip = func(r *http.Request) bool { return r.Header.Get("X-Api-Key") == "subscriber" } // after your own check
	cfg.OnPaid = func(_ *http.Request, p paywall.Payment) { fmt.Println("paid", p.AmountMicros, "by", p.Credential) }
	cfg.OnRefused = func(_ *http.Request, no paywall.Refusal) { fmt.Println("refused:", no.Code) }
	gate := paywall.Must(paywall.New(cfg))
	weather := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "sunny") }))

	subscriber := httptest.NewRequest(http.MethodGet, "/weather", http.NoBody)
	subscriber.Header.Set("X-Api-Key", "subscriber")
	served := httptest.NewRecorder()
	weather.ServeHTTP(served, subscriber)
	fmt.Println(served.Code, served.Body)

	fmt.Println(get(weather, "/weather").Body)

	wrong := httptest.NewRequest(http.MethodGet, "/weather", http.NoBody)
	wrong.Header.Set(x402.HeaderPaymentSignature, "no payment")
	weather.ServeHTTP(httptest.NewRecorder(), wrong)
	// Output:
	// 200 sunny
	// asked for 10000
	// paid 10000 by x402
	// sunny
	// refused: malformed_credential
}

// A resource that can be paid on two networks.
func ExampleConfig_accepts() {
	cfg := exampleConfig
	cfg.Accepts = []paywall.Accept{{Network: x402.NetworkBase}}
	gate := paywall.Must(paywall.New(cfg))
	weather := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "sunny") }))

	asked := httptest.NewRecorder()
	weather.ServeHTTP(asked, httptest.NewRequest(http.MethodGet, "/weather", http.NoBody))
	required, err := x402.DecodePaymentRequired(asked.Header().Get(x402.HeaderPaymentRequired))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range required.Accepts {
		fmt.Println(a.Network, a.Amount)
	}
	// Output:
	// eip155:84532 10000
	// eip155:8453 10000
}

// A reverse proxy that charges for an API without changes to it. The API does not see the
// payment credential.
func ExampleGate_Require_reverseProxy() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s, credential: %q", r.URL.Path, r.Header.Get(x402.HeaderPaymentSignature))
	}))
	defer api.Close()
	target, err := url.Parse(api.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	gate := paywall.Must(paywall.New(exampleConfig))
	proxy := gate.Require(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	fmt.Println(get(proxy, "/v1/forecast").Body)
	// Output:
	// asked for 10000
	// /v1/forecast, credential: ""
}

// Server-sent events pass through a gate as they are written.
func ExampleGate_Require_serverSentEvents() {
	gate := paywall.Must(paywall.New(exampleConfig))
	ticks := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	events := get(ticks, "/ticks")
	fmt.Print(events.Flushed, "\n", events.Body)
	// Output:
	// asked for 10000
	// true
	// data: 0
	//
	// data: 1
	//
	// data: 2
	//
}

// A handler that cannot serve what was paid for keeps the payment valid.
func ExampleDecline() {
	ready := false
	gate := paywall.Must(paywall.New(exampleConfig))
	report := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ready {
			paywall.Decline(r.Context())
			fmt.Fprint(w, "not ready: send the same credential again")
			return
		}
		fmt.Fprint(w, "the report")
	}))
	asked := httptest.NewRecorder()
	report.ServeHTTP(asked, httptest.NewRequest(http.MethodGet, "/report", http.NoBody))
	paid := httptest.NewRequest(http.MethodGet, "/report", http.NoBody)
	paid.Header.Set(x402.HeaderPaymentSignature, signature(asked))
	for range 3 {
		w := httptest.NewRecorder()
		report.ServeHTTP(w, paid)
		fmt.Println(w.Code, w.Header().Get("Content-Type") == "application/json", w.Body.Len() > 0)
		ready = true
	}
	// Output:
	// 200 false true
	// 200 false true
	// 402 true true
}

// The price is the most; a mandate pays for what the handler counts.
func ExampleMeterFrom() {
	cfg := exampleConfig
	cfg.Price, cfg.Metered = "0.10", true
	cfg.Settler = holdAll{} // the service, with Config.Merchant
	gate := paywall.Must(paywall.New(cfg))
	answers := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		meter := paywall.MeterFrom(r.Context())
		for word := range strings.FieldsSeq("it will rain") {
			if err := meter.AddUnits("word", 1, 1500); err != nil {
				return // the price is used up
			}
			fmt.Fprintln(w, word)
		}
	}))
	fmt.Print(get(answers, "/answers").Body)
	// Output:
	// asked for 100000
	// it
	// will
	// rain
}

// holdAll is acceptAll for metered routes.
type holdAll struct{ acceptAll }

func (holdAll) Capture(context.Context, string, client.CaptureParams) (client.Charge, error) {
	return client.Charge{Status: client.Completed}, nil
}

func (holdAll) Void(context.Context, string) (client.Charge, error) {
	return client.Charge{Status: client.Voided}, nil
}

// Instances that share a database serve each credential once.
func ExampleNewSQL() {
	dir, err := os.MkdirTemp("", "paywall")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite", filepath.Join(dir, "redemptions.db")) // or PostgreSQL
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	var instances []http.Handler
	for range 2 {
		redemptions, err := paywall.NewSQL(paywall.SQLConfig{DB: db})
		if err == nil {
			err = redemptions.Migrate(context.Background())
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		cfg := exampleConfig
		cfg.Redemptions, cfg.Secrets = redemptions, []string{"the same secret on all instances"}
		gate := paywall.Must(paywall.New(cfg))
		instances = append(instances, gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "sunny") })))
	}
	asked := httptest.NewRecorder()
	instances[0].ServeHTTP(asked, httptest.NewRequest(http.MethodGet, "/weather", http.NoBody))
	paid := httptest.NewRequest(http.MethodGet, "/weather", http.NoBody)
	paid.Header.Set(x402.HeaderPaymentSignature, signature(asked))
	for _, instance := range instances {
		w := httptest.NewRecorder()
		instance.ServeHTTP(w, paid)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 402
}

func amountOf(asked *httptest.ResponseRecorder) string {
	required, err := x402.DecodePaymentRequired(asked.Header().Get(x402.HeaderPaymentRequired))
	if err != nil {
		return err.Error()
	}
	return required.Accepts[0].Amount
}

// signature answers a challenge with a payment that acceptAll accepts.
func signature(asked *httptest.ResponseRecorder) string {
	required, err := x402.DecodePaymentRequired(asked.Header().Get(x402.HeaderPaymentRequired))
	if err != nil {
		return err.Error()
	}
	header, err := x402.EncodeHeader(x402.Payload{
		X402Version: x402.Version2, Accepted: required.Accepts[0], Payload: exampleTransfer(required.Accepts[0].Amount),
	})
	if err != nil {
		return err.Error()
	}
	return header
}

// exampleTransfer returns a transfer with a new nonce. A wallet signs it.
func exampleTransfer(amount string) x402.Exact {
	return x402.Exact{Signature: "0x" + strings.Repeat("ab", 65), Authorization: x402.Authorization{
		From: "0x857b06519E91e3A54538791bDbb0E22373e36b66", To: exampleConfig.PayTo, Value: amount, ValidAfter: "0",
		ValidBefore: strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10), Nonce: fmt.Sprintf("0x%064x", nonces.Add(1)),
	}}
}
