// Command embed runs the service inside a Go program (a store, a rail, a handler),
// and beside it an endpoint that is paid for: its gate calls the service within the
// process. It keeps its data in pay.db, and ends in order when it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

const origin, wallet = "http://127.0.0.1:8080", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, "pay.db", "127.0.0.1:8080")
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path, address string) (failed error) {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	srv, err := server.New(ctx, server.Config{
		BaseURL: origin, Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	defer func() { failed = errors.Join(failed, srv.Close()) }()
	if err := srv.Start(ctx); err != nil {
		return err
	}
	if err := merchant(ctx, srv, store); err != nil {
		return err
	}
	gate, err := paywall.New(paywall.Config{
		Price: "0.50", PayTo: wallet, APIURL: origin, TestMode: true, Resource: origin + "/report",
		HTTPClient: &http.Client{Transport: srv.Transport(nil)}, // settles within the process
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", srv)
	mux.Handle("GET /report", gate.Require(http.HandlerFunc(report)))
	return serve(ctx, address, mux)
}

// merchant makes the merchant's account, unless an earlier run did.
func merchant(ctx context.Context, srv *server.Server, store store.Store) error {
	m, err := store.MerchantByWallet(ctx, wallet)
	if err == nil {
		fmt.Println("merchant", m.ID, "of an earlier run; its key was printed then")
		return nil
	}
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	made, err := srv.CreateMerchant(ctx, server.MerchantParams{Name: "Acme", PayTo: wallet})
	if err != nil {
		return err
	}
	fmt.Println("merchant", made.ID, "with key", made.APIKey)
	return nil
}

// serve answers until ctx ends, and lets running requests end.
func serve(ctx context.Context, address string, h http.Handler) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving at", l.Addr())
	s, done := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return s.Shutdown(end)
}

func report(w http.ResponseWriter, r *http.Request) {
	p, _ := paywall.PaymentFrom(r.Context())
	fmt.Fprintf(w, `{"temperature":7,"thanks":%q}`, p.Payer)
}
