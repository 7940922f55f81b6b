package main

import (
	"context"
	"log/slog"
	"math"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

// hooksPath is the path at which the merchant's API receives events.
const hooksPath = "/paywarrant-hooks"

// subscribe lets the merchant's API receive events and log them. The endpoint of an
// earlier run is replaced: the API is at another address now.
func (s *devSystem) subscribe(ctx context.Context, log *slog.Logger) error {
	if !s.local() {
		log.WarnContext(ctx, "the demo API receives no webhooks: the base URL is not on this machine")
		return nil
	}
	m := &s.People.Merchant
	c, err := s.client()
	if err != nil {
		return err
	}
	former, err := c.WebhookEndpoints(ctx)
	if err != nil {
		return err
	}
	for _, e := range former.Data {
		if !strings.HasSuffix(e.URL, hooksPath) {
			continue
		}
		if _, err := c.DeleteWebhookEndpoint(ctx, e.ID); err != nil {
			return err
		}
	}
	e, err := c.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: s.API.BaseURL + hooksPath})
	if err != nil {
		return err
	}
	m.WebhookSecret = e.Secret
	h, err := webhook.NewHandler(s.hookConfig(e.Secret, log))
	if err == nil {
		s.API.routes.Handle(hooksPath, h)
	}
	return err
}

// hookConfig logs every event, whatever the time: the service's clock may be moved.
func (s *devSystem) hookConfig(secret string, log *slog.Logger) webhook.Config {
	note := func(ctx context.Context, e webhook.Event) {
		if s.events != nil {
			s.events(e)
		}
		log.InfoContext(ctx, "webhook", slog.String("type", string(e.Type)), slog.String("event", e.ID), slog.String("data", string(e.Data)))
	}
	heard := func(ctx context.Context, e webhook.Event) error { note(ctx, e); return nil }
	payment := func(ctx context.Context, e webhook.Event, _ webhook.Payment) error { note(ctx, e); return nil }
	delegate := func(ctx context.Context, e webhook.Event, _ webhook.Mandate) error { note(ctx, e); return nil }
	return webhook.Config{
		Secrets: []string{secret}, Tolerance: math.MaxInt64, Logger: log, Other: heard, PaymentSucceeded: payment, PaymentFailed: payment,
		PaymentAuthorized: payment, PaymentVoided: payment, PaymentWrittenOff: payment, PaymentRefunded: payment, PaymentRefundFailed: payment, PaymentReversed: payment, MandateCreated: delegate, MandateRevoked: delegate,
	}
}
