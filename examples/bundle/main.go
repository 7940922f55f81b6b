// Command bundle gates an endpoint and sells its requests in advance. Run
// `paywarrant dev --env dev.env`, in another terminal the commands below, and look at
// /bundles with a browser or an agent.
//
//	. ./dev.env
//	BUNDLE_SECRET=$(openssl rand -hex 32) go run ./examples/bundle
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/bundle"
)

func main() {
	c, err := client.New(client.Config{
		BaseURL: os.Getenv("SERVICE_API_URL"), MerchantID: os.Getenv("SERVICE_MERCHANT_ID"), APIKey: os.Getenv("SERVICE_API_KEY"),
	})
	if err != nil {
		log.Fatal(err)
	}
	mux, err := api(c, os.Getenv("SERVICE_API_URL"), os.Getenv("PAY_TO"), os.Getenv("BUNDLE_SECRET"), "http://127.0.0.1:8082")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8082", mux))
}

func api(c *client.Client, serviceURL, payTo, secret, self string) (*http.ServeMux, error) {
	key, err := bundle.HS256("1", []byte(secret)) // 32 bytes or more
	if err != nil {
		return nil, err
	}
	shop, err := bundle.New(bundle.Config{
		Issuer: self, Keys: []bundle.Key{key},
		Tiers:       []paywall.Tier{{Name: "small", USDCents: 100, Requests: 100}, {Name: "large", USDCents: 500, Requests: 1000}},
		PurchaseURL: self + "/bundles", BalanceURL: self + "/bundles/balance",
		Sell:   bundle.ByMandate(c), // or a checkout link of your own
		APIURL: serviceURL,          // verifies mandates before they are charged
		// Store: bundle.NewSQL(db), or bundles are gone with the process
	})
	if err != nil {
		return nil, err
	}
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: payTo, APIURL: serviceURL, TestMode: true, Resource: self + "/weather",
		CreditBundle: shop.CreditBundle(),
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /weather", gate.Require(http.HandlerFunc(weather)))
	mux.Handle("/bundles", shop.Purchase())
	mux.Handle("/bundles/balance", shop.Balance())
	return mux, nil
}

func weather(w http.ResponseWriter, r *http.Request) {
	p, _ := paywall.PaymentFrom(r.Context())
	fmt.Fprintf(w, `{"temperature":7,"creditsRemaining":%d}`, p.CreditsRemaining)
}
