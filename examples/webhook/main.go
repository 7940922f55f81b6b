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
	if err := receive(mux, os.Getenv("WEBHOOK_SECRET"), os.Stdout); err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{Addr: "127.0.0.1:8090", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(srv.ListenAndServe())
}

func receive(mux *http.ServeMux, secret string, out io.Writer) error {
	hooks, err := webhook.NewHandler(webhook.Config{
		Secrets: []string{secret},
		PaymentSucceeded: func(_ context.Context, _ webhook.Event, p webhook.Payment) error {
			_, err := fmt.Fprintln(out, "paid:", p.TransactionID, p.AmountCents)
			return err // an error answers 500, and the event is sent again
		},
		MandateRevoked: func(_ context.Context, _ webhook.Event, d webhook.Mandate) error {
			_, err := fmt.Fprintln(out, "revoked:", d.MandateID, "by the", d.RevokedBy)
			return err
		},
	})
	if err != nil {
		return err
	}
	mux.Handle("POST /hooks", hooks)
	return nil
}
