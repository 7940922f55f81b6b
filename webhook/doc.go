// Package webhook receives the events that Paywarrant sends to a merchant: it verifies
// deliveries and passes each event to the function for its type.
//
//	hooks, err := webhook.NewHandler(webhook.Config{
//		Secrets:          []string{os.Getenv("WEBHOOK_SECRET")},
//		PaymentSucceeded: func(ctx context.Context, e webhook.Event, p webhook.Payment) error { … },
//	})
//	mux.Handle("POST /hooks", hooks)
//
// Events are delivered at least once. If a function returns an error, the answer is 500
// and the event is sent again; the handler passes each event on once, as far as it
// remembers ([Config].Remember). Events of one mandate arrive in order: one that fails
// holds back the later ones until it succeeds or expires.
//
// [Verifier] verifies without a handler, [Sign] signs deliveries in tests.
//
// # Signature
//
// A delivery carries X-Service-Signature: t=<unix seconds>,v1=<hex>, the HMAC-SHA256
// of t, a dot and the body under the 32 bytes that the secret encodes (whsec_ and
// base64). While a secret is being rotated there is one v1 for each. The headers of
// Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature) are there too,
// for libraries of other languages.
//
// The package depends on the standard library alone. It does not register
// endpoints; package client does.
package webhook
