// Command embed runs the service inside a Go program (a store, a rail, a handler),
// and beside it an endpoint that is paid for: its gate calls the service within the
// process.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlite.Open(ctx, "pay.db")
	if err != nil {
		return err
	}
	srv, err := server.New(ctx, server.Config{
		BaseURL: "http://127.0.0.1:8080", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
	})
	if err != nil {
		return err
	}
	if err := srv.Start(ctx); err != nil {
		return err
	}
	defer srv.Close()
	m, err := srv.CreateMerchant(ctx, server.MerchantParams{Name: "Acme", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"})
	if err != nil {
		return err
	}
	gate, err := paywall.New(paywall.Config{
		Price: "0.50", PayTo: m.PayTo, APIURL: "http://127.0.0.1:8080", TestMode: true, Resource: "http://127.0.0.1:8080/report",
		HTTPClient: &http.Client{Transport: srv.Transport(nil)}, // settles within the process
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", srv)
	mux.Handle("GET /report", gate.Require(http.HandlerFunc(report)))
	fmt.Println("serving; merchant", m.ID, "with key", m.APIKey)
	return http.ListenAndServe("127.0.0.1:8080", mux)
}

func report(w http.ResponseWriter, r *http.Request) {
	p, _ := paywall.PaymentFrom(r.Context())
	fmt.Fprintf(w, `{"temperature":7,"thanks":%q}`, p.Payer)
}
