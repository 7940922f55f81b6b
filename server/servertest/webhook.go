package servertest

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

const (
	// nextWithin is how long Next waits for an event.
	nextWithin = 20 * time.Second
	// maxReceived limits the events that a receiver holds until the test reads them.
	maxReceived = 10_000
)

// Receiver is a merchant's receiver of webhooks. It verifies each delivery by the service's
// clock.
type Receiver struct {
	// Endpoint is the receiver's endpoint at the service, with its secret.
	Endpoint client.WebhookEndpoint

	events chan webhook.Event
}

// Webhook starts a receiver and adds it as an endpoint of the merchant for events of these
// types, or of all types if there are none. The receiver stops when the test ends.
//
//	hook := srv.Webhook(t)
//	… a charge …
//	e := hook.Next(t)
func (s *Server) Webhook(t testing.TB, types ...webhook.Type) *Receiver {
	t.Helper()
	r := &Receiver{events: make(chan webhook.Event, maxReceived)}

	keep := func(_ context.Context, e webhook.Event) error {
		r.events <- e
		return nil
	}
	cfg := webhook.Config{
		Clock: s.Clock.Now, Other: keep,
		PaymentSucceeded:    func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentReversed:     func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentAuthorized:   func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentRefunded:     func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentRefundFailed: func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentVoided:       func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentWrittenOff:   func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		PaymentFailed:       func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { return keep(ctx, e) },
		MandateCreated:      func(ctx context.Context, e webhook.Event, _ webhook.Mandate) error { return keep(ctx, e) },
		MandateRevoked:      func(ctx context.Context, e webhook.Event, _ webhook.Mandate) error { return keep(ctx, e) },
	}
	listener := httptest.NewUnstartedServer(nil)
	var err error
	r.Endpoint, err = s.client.CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{
		URL: "http://" + listener.Listener.Addr().String(), Events: types,
	})
	if err != nil {
		t.Fatalf("servertest: create webhook endpoint: %v", err)
	}

	cfg.Secrets = []string{r.Endpoint.Secret}
	if listener.Config.Handler, err = webhook.NewHandler(cfg); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	listener.Start()
	t.Cleanup(listener.Close)
	return r
}

// Next waits for the next verified event and returns it. The test fails after 20 seconds
// without one.
func (r *Receiver) Next(t testing.TB) webhook.Event {
	t.Helper()
	timer := time.NewTimer(nextWithin)
	defer timer.Stop()
	select {
	case e := <-r.events:
		return e
	case <-timer.C:
		t.Fatalf("servertest: no event within %s", nextWithin)
		return webhook.Event{}
	}
}
