// Command embed runs the service inside a Go program: a store, a rail, a handler.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

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
	m, err := srv.CreateMerchant(ctx, server.MerchantParams{Name: "Acme"})
	if err != nil {
		return err
	}
	fmt.Println("serving; merchant", m.ID, "with key", m.APIKey)
	return http.ListenAndServe("127.0.0.1:8080", srv)
}
