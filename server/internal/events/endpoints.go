package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// overlap is how long deliveries are signed with the previous secret too.
const overlap = 24 * time.Hour

// CreateEndpoint adds an endpoint and returns it with its secret, which is shown
// this once. It returns store.ErrTooManyEndpoints and store.ErrEndpointExists.
func (s *Service) CreateEndpoint(ctx context.Context, merchantID, to string, types []webhook.Type) (store.WebhookEndpoint, string, error) {
	now := s.Clock()
	e := store.WebhookEndpoint{ID: id.New(id.WebhookEndpoint, now), MerchantID: merchantID, URL: to, Types: types, CreatedAt: now}
	secret, sealed, err := s.sender.NewSecret(ctx, e.ID)
	if err != nil {
		return e, "", err
	}
	e.Secret, err = sealed, ledger.ErrConflict
	for n := 0; errors.Is(err, ledger.ErrConflict) && n < 2*store.MaxWebhookEndpoints; n++ { // others are added at the same time
		err = s.Store.AddWebhookEndpoint(ctx, e)
	}
	if err != nil {
		return e, "", fmt.Errorf("create webhook endpoint: %w", err)
	}
	return e, secret, nil
}

// Endpoints lists a merchant's endpoints, the oldest first.
func (s *Service) Endpoints(ctx context.Context, merchantID string) ([]store.WebhookEndpoint, error) {
	return s.Store.WebhookEndpoints(ctx, merchantID)
}

// Endpoint returns one of a merchant's endpoints. It returns ledger.ErrNotFound also
// if the endpoint is another merchant's.
func (s *Service) Endpoint(ctx context.Context, merchantID, endpointID string) (store.WebhookEndpoint, error) {
	e, err := s.Store.WebhookEndpoint(ctx, endpointID)
	if err == nil && e.MerchantID != merchantID {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return store.WebhookEndpoint{}, fmt.Errorf("read webhook endpoint: %w", err)
	}
	return e, nil
}

// DeleteEndpoint deletes an endpoint with its deliveries. Errors are those of [Service.Endpoint].
func (s *Service) DeleteEndpoint(ctx context.Context, merchantID, endpointID string) error {
	if _, err := s.Endpoint(ctx, merchantID, endpointID); err != nil {
		return err
	}
	if err := s.Store.DeleteWebhookEndpoint(ctx, endpointID); err != nil {
		return fmt.Errorf("delete webhook endpoint: %w", err)
	}
	return nil
}

// RotateSecret gives an endpoint a new secret, shown this once. Deliveries are signed with
// the previous one too for a day. What this instance signed with the previous one alone has
// been answered when RotateSecret returns; another instance uses the new secret within a
// second. Errors are those of [Service.Endpoint], and ledger.ErrConflict if the secret was
// rotated at the same time.
func (s *Service) RotateSecret(ctx context.Context, merchantID, endpointID string) (store.WebhookEndpoint, string, error) {
	e, err := s.Endpoint(ctx, merchantID, endpointID)
	if err != nil {
		return e, "", err
	}
	secret, sealed, err := s.sender.NewSecret(ctx, e.ID)
	if err != nil {
		return e, "", err
	}
	until := s.Clock().Add(overlap)
	if err := s.Store.RotateWebhookSecret(ctx, e.ID, sealed, e.Secret, until); err != nil {
		return e, "", fmt.Errorf("rotate webhook secret: %w", err)
	}
	s.deliverer.AwaitRotation(ctx, e)
	e.Secret, e.PreviousSecret, e.PreviousUntil = sealed, e.Secret, until
	return e, secret, nil
}

// TestEndpoint sends a test event to an endpoint now, and returns the delivery. Errors are
// those of [Service.Endpoint].
func (s *Service) TestEndpoint(ctx context.Context, merchantID, endpointID string) (store.Delivery, error) {
	e, err := s.Endpoint(ctx, merchantID, endpointID)
	if err != nil {
		return store.Delivery{}, err
	}
	now := s.Clock()
	to, err := s.sender.Open(ctx, e, now)
	if err != nil {
		return store.Delivery{}, err
	}
	event := ledger.Event{ID: id.New(id.Event, now), Type: webhook.Test, Data: "{}", CreatedAt: now}
	o := s.sender.Send(ctx, to, event, now)
	d := store.Delivery{
		EndpointID: e.ID, EventID: event.ID, Status: store.DeliveryDelivered, Attempts: 1, HTTPStatus: o.Status, Error: o.Problem,
		Answer: o.Answer, TriedAt: now, CreatedAt: now,
	}
	if !o.OK() {
		d.Status = store.DeliveryFailed
	}
	return d, nil
}
