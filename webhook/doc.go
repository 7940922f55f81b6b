// Package webhook receives the events that Paywarrant tells a merchant of: it
// verifies deliveries, and hands each event to the function for its type.
//
//	mux.Handle("POST /hooks", webhook.Handler(webhook.Config{
//		Secrets:          []string{os.Getenv("WEBHOOK_SECRET")},
//		PaymentSucceeded: func(ctx context.Context, e webhook.Event, p webhook.Payment) error { … },
//	}))
//
// A function that returns an error makes the answer 500, so that the event is sent
// again: at least once is what is promised, and the handler lets each event through
// once, as far as it remembers ([Config].Remember). Events of one mandate come in
// order; one that is refused holds back those behind it until it is taken or given up.
//
// [Verifier] is for those who want only the verification, [Sign] for tests.
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
