// Command paywall gates an endpoint. Run `paywarrant dev --env dev.env`, in another
// terminal the commands below, and ask for /report.
//
//	. ./dev.env
//	go run ./examples/paywall
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/paywarrant/paywarrant/paywall"
)

func main() {
	mux, err := api(os.Getenv("SERVICE_API_URL"), os.Getenv("PAY_TO"), "http://127.0.0.1:8081")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8081", mux))
}

func api(serviceURL, payTo, self string) (*http.ServeMux, error) {
	mux := http.NewServeMux()
	gate, err := paywall.New(paywall.Config{
		Price:    "0.50", // USDC
		PayTo:    payTo,
		APIURL:   serviceURL,
		TestMode: true,
		Resource: self + "/report",
	})
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /report", gate.Require(http.HandlerFunc(report)))
	return mux, nil
}

func report(w http.ResponseWriter, r *http.Request) {
	p, _ := paywall.PaymentFrom(r.Context())
	fmt.Fprintf(w, `{"temperature":7,"thanks":%q}`, p.Payer)
}
