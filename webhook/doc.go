// Package webhook receives the events that Paywarrant sends to a merchant: it verifies
// deliveries and passes each event to the function for its type.
//
//	hooks, err := webhook.NewHandler(webhook.Config{
//		Secrets:          []string{os.Getenv("WEBHOOK_SECRET")},
//		PaymentSucceeded: func(ctx context.Context, e webhook.Event, p webhook.Payment) error { … },
//	})
//	mux.Handle("POST /hooks", hooks)
//
// Events are delivered at least once. If a function returns an error, the handler answers
// 500 and the service sends the event again. The handler passes each event on once, as far as
// it remembers ([Config.Remember]). Events of one mandate arrive in order: one that fails
// holds back the later ones until it succeeds or expires.
//
// [Verifier] verifies without a handler, [Sign] signs deliveries in tests.
//
// # Signature
//
// A delivery has the header X-Service-Signature: t=<unix seconds>,v1=<hex>. v1 is the
// HMAC-SHA256 of t, a dot and the body. Its key is the 32 bytes that the secret encodes (whsec_
// and base64). During a rotation there is a v1 for each secret. Deliveries also have the
// headers of Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature), for
// libraries of other languages.
//
// The package imports only the standard library. It does not register endpoints; package
// client does.
package webhook
