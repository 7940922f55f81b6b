package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	apiclient "github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402"
)

// A request that requires a payment is paid by the mandate, and answered.
func ExampleNewTransport() {
	shop := exampleShop()
	defer shop.Close()

	transport, err := agent.NewTransport(agent.Config{
		Service: exampleService{}, Mandate: "dtok_1", // in production: a *client.Client, and the token of a mandate
		MaxPriceMicros: 20_000, // 0.02 USD per request
		BudgetMicros:   1_000_000,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	hc := &http.Client{Transport: transport}

	resp, err := hc.Get(shop.URL + "/weather")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode, string(text))
	if receipt, ok := agent.ReceiptFrom(resp); ok {
		fmt.Println("paid", receipt.AmountMicros, "micro-USD by", receipt.Method, "in", receipt.Transaction)
	}
	// Output:
	// 200 sunny
	// paid 10000 micro-USD by mandate in 0x1
}

// A lower limit for one request.
func ExampleWithMaxPrice() {
	shop := exampleShop()
	defer shop.Close()
	hc, done := exampleClient(agent.Config{MaxPriceMicros: 20_000})
	defer done()

	ctx := agent.WithMaxPrice(context.Background(), 5_000) // 0.005 USD
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, shop.URL+"/weather", http.NoBody)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := hc.Do(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	var refused *agent.PaymentError
	if errors.As(err, &refused) {
		fmt.Println(errors.Is(err, agent.ErrTooExpensive), refused.Offers[0].Price())
	}
	// Output: true 0.01
}

// Approve is called before each payment. An error stops it.
func ExampleConfig_approve() {
	shop := exampleShop()
	defer shop.Close()
	hc, done := exampleClient(agent.Config{
		MaxPriceMicros: 20_000,
		Approve: func(_ context.Context, p agent.Purchase) error {
			fmt.Println("approve", p.Price(), "USD by", p.Method, "for", p.Description)
			return errors.New("not today")
		},
	})
	defer done()

	resp, err := hc.Get(shop.URL + "/weather")
	if err == nil {
		_ = resp.Body.Close()
	}
	fmt.Println(errors.Is(err, agent.ErrNotApproved))
	// Output:
	// approve 0.01 USD by mandate for the weather
	// true
}

// Fetch limits size and time, and returns the receipt with the content.
func ExampleClient_Fetch() {
	shop := exampleShop()
	defer shop.Close()
	c, err := agent.New(agent.Config{
		Service: exampleService{}, Mandate: "dtok_1", MaxPriceMicros: 20_000,
		AllowPrivate: true, // the shop of this example is on the loopback interface
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.CloseIdleConnections()

	f, err := c.Fetch(context.Background(), agent.FetchParams{URL: shop.URL + "/weather"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Status, string(f.Content), f.Receipt.Transaction)
	// Output: 200 sunny 0x1
}

func exampleClient(c agent.Config) (hc *http.Client, done func()) {
	c.Service, c.Mandate = exampleService{}, "dtok_1"
	transport, err := agent.NewTransport(c)
	if err != nil {
		log.Fatal(err)
	}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

// exampleService stands for the service that issued the mandate.
type exampleService struct{}

func (exampleService) Balance(context.Context, string) (apiclient.Balance, error) {
	return apiclient.Balance{
		Status: apiclient.MandateActive, MaxPerTxCents: 500, RemainingMonthlySpendCents: 5000, Rails: []apiclient.Rail{apiclient.ChainRail},
	}, nil
}

func (exampleService) CreatePresentation(context.Context, string, apiclient.PresentationParams) (apiclient.Presentation, error) {
	return apiclient.Presentation{Presentation: "dtok_presentation", ExpiresAt: time.Now().Add(5 * time.Minute)}, nil
}

// exampleShop sells the weather for a cent. A real one uses package paywall.
func exampleShop() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(agent.HeaderMandate) != "" {
			paid := x402.Settlement{Success: true, Transaction: "0x1", Network: x402.NetworkBaseSepolia, Payer: "del_1"}
			w.Header().Set(x402.HeaderPaymentResponseV1, paid.Header())
			_, _ = io.WriteString(w, "sunny")
			return
		}
		methods, err := x402.MethodsExtension([]x402.Method{{Type: x402.MethodMandate, Header: agent.HeaderMandate, Amount: "10000", Currency: "usdc"}})
		if err != nil {
			log.Fatal(err)
		}
		header, err := x402.EncodeHeader(x402.PaymentRequired{
			X402Version: 2, Error: "payment required",
			Resource: x402.Resource{URL: "http://" + r.Host + r.URL.Path, Description: "the weather"},
			Accepts: []x402.Requirements{{
				Scheme: "exact", Network: x402.NetworkBaseSepolia, Amount: "10000", MaxTimeoutSeconds: 60,
				Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
				Extra: map[string]any{"name": "USDC", "version": "2"},
			}},
			Extensions: map[string]x402.Extension{x402.ExtensionMethods: methods},
		})
		if err != nil {
			log.Fatal(err)
		}
		w.Header().Set(x402.HeaderPaymentRequired, header)
		w.WriteHeader(http.StatusPaymentRequired)
	}))
}
