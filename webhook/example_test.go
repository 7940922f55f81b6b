package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// A receiver, and a test of it that signs as the service does.
func ExampleNewHandler() {
	secret := webhook.NewSecret() // of the endpoint, from the environment
	hooks, err := webhook.NewHandler(webhook.Config{
		Secrets: []string{secret},
		PaymentSucceeded: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			fmt.Println(e.ID, "paid", p.AmountCents)
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("POST /hooks", hooks)

	body := []byte(`{"id":"evt_1","type":"payment.succeeded","data":{"amountCents":250},"created_at":"2026-11-21T12:00:00.000Z","livemode":false}`)
	r := httptest.NewRequest(http.MethodPost, "/hooks", bytes.NewReader(body))
	r.Header, _ = webhook.Sign("evt_1", time.Now(), body, secret)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output:
	// evt_1 paid 250
	// 204
}

func ExampleVerifier() {
	secret := webhook.NewSecret()
	body := []byte(`{"id":"evt_1","type":"delegate.revoked","data":{},"created_at":"2026-11-21T12:00:00.000Z","livemode":false}`)
	header, _ := webhook.Sign("evt_1", time.Now(), body, secret)

	e, err := webhook.Verifier{Secrets: []string{secret}}.Verify(header, body)
	fmt.Println(e.Type, err)
	_, err = webhook.Verifier{Secrets: []string{secret}}.Verify(header, append(body, ' '))
	fmt.Println(err)
	// Output:
	// delegate.revoked <nil>
	// webhook: signature does not verify
}
