// Command webhook receives webhooks: run `paywarrant dev`, then
//
//	WEBHOOK_SECRET=whsec_… go run ./examples/webhook
//
// with the secret that `POST /v1/webhook_endpoints` with the URL
// http://127.0.0.1:8090/hooks answers.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

func main() {
	mux := http.NewServeMux()
	receive(mux, os.Getenv("WEBHOOK_SECRET"), os.Stdout)
	srv := &http.Server{Addr: "127.0.0.1:8090", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(srv.ListenAndServe())
}

func receive(mux *http.ServeMux, secret string, out io.Writer) {
	tell := func(what ...any) error {
		_, err := fmt.Fprintln(out, what...)
		return err
	}
	mux.Handle("POST /hooks", webhook.Handler(webhook.Config{
		Secrets: []string{secret},
		PaymentSucceeded: func(_ context.Context, _ webhook.Event, p webhook.Payment) error {
			return tell("paid:", p.TransactionID, p.AmountCents) // an error answers 500, and the event is sent again
		},
		DelegateRevoked: func(_ context.Context, _ webhook.Event, d webhook.Delegate) error {
			return tell("revoked:", d.DelegateID, "by the", d.RevokedBy)
		},
	}))
}
