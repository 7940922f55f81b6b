package events

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/webhook"
)

// overlap is how long deliveries are signed with the former secret too.
const overlap = 24 * time.Hour

func label(endpointID string) vault.Label {
	return vault.Label{Purpose: "webhook-secret", Owner: endpointID}
}

// CreateEndpoint adds an endpoint and returns it with its secret, which is shown
// this once. It returns ledger.ErrTooManyEndpoints and ledger.ErrEndpointExists.
func (s *Service) CreateEndpoint(ctx context.Context, merchantID, to string, types []webhook.Type) (ledger.WebhookEndpoint, string, error) {
	now := s.Clock()
	e := ledger.WebhookEndpoint{ID: id.New(id.WebhookEndpoint, now), MerchantID: merchantID, URL: to, Types: types, CreatedAt: now}
	secret := webhook.NewSecret()
	var err error
	if e.Secret, err = s.Vault.Seal(ctx, label(e.ID), []byte(secret)); err != nil {
		return e, "", fmt.Errorf("create webhook endpoint: %w", err)
	}
	for range 2 * ledger.MaxWebhookEndpoints { // others may be added at the same time
		if err = s.Store.AddWebhookEndpoint(ctx, e); !errors.Is(err, ledger.ErrConflict) {
			break
		}
	}
	if err != nil {
		return e, "", fmt.Errorf("create webhook endpoint: %w", err)
	}
	return e, secret, nil
}

// Endpoints lists a merchant's endpoints, the oldest first.
func (s *Service) Endpoints(ctx context.Context, merchantID string) ([]ledger.WebhookEndpoint, error) {
	return s.Store.WebhookEndpoints(ctx, merchantID)
}

// Endpoint is one of a merchant's endpoints. It returns ledger.ErrNotFound also
// where it is another's.
func (s *Service) Endpoint(ctx context.Context, merchantID, endpointID string) (ledger.WebhookEndpoint, error) {
	e, err := s.Store.WebhookEndpoint(ctx, endpointID)
	if err == nil && e.MerchantID != merchantID {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return ledger.WebhookEndpoint{}, fmt.Errorf("read webhook endpoint: %w", err)
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

// RotateSecret gives an endpoint a new secret, shown this once. Deliveries are
// signed with the former one too for a day. What was on its way from here, signed
// with the former alone, has been answered when RotateSecret returns; another
// instance takes the new secret up within a second or so. Errors are those of [Service.Endpoint], and
// ledger.ErrConflict where it was rotated at the same time.
func (s *Service) RotateSecret(ctx context.Context, merchantID, endpointID string) (ledger.WebhookEndpoint, string, error) {
	e, err := s.Endpoint(ctx, merchantID, endpointID)
	if err != nil {
		return e, "", err
	}
	secret := webhook.NewSecret()
	sealed, err := s.Vault.Seal(ctx, label(e.ID), []byte(secret))
	if err != nil {
		return e, "", fmt.Errorf("rotate webhook secret: %w", err)
	}
	until := s.Clock().Add(overlap)
	if err := s.Store.RotateWebhookSecret(ctx, e.ID, sealed, e.Secret, until); err != nil {
		return e, "", fmt.Errorf("rotate webhook secret: %w", err)
	}
	s.refresh(ctx, e.ID)
	e.Secret, e.Former, e.FormerUntil = sealed, e.Secret, until
	return e, secret, nil
}

// refresh has the queue of an endpoint read it again, and waits until all that
// was signed before has been answered.
func (s *Service) refresh(ctx context.Context, endpointID string) {
	s.mu.Lock()
	q := s.queues[endpointID]
	s.mu.Unlock()
	if q == nil {
		return
	}
	done := make(chan struct{})
	q.mu.Lock()
	q.refresh = append(q.refresh, done)
	q.mu.Unlock()
	signal(q.signal)
	timer := time.NewTimer(sendTimeout + spare + 2*idleTick)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C: // the queue has ended meanwhile, and nothing is on its way
	case <-ctx.Done():
	case <-s.ended:
	}
}

// open opens the secrets that an endpoint's deliveries are signed with now.
func (s *Service) open(ctx context.Context, e ledger.WebhookEndpoint) ([]string, error) {
	sealed := [][]byte{e.Secret}
	if len(e.Former) > 0 && s.Clock().Before(e.FormerUntil) {
		sealed = append(sealed, e.Former)
	}
	var secrets []string
	for _, b := range sealed {
		secret, err := s.Vault.Open(ctx, label(e.ID), b)
		if err != nil {
			return nil, fmt.Errorf("webhook endpoint %s: %w", e.ID, err)
		}
		secrets = append(secrets, string(secret))
		clear(secret)
	}
	return secrets, nil
}

// TestEndpoint sends a test event to an endpoint now, and returns what came of it.
// Errors are those of [Service.Endpoint].
func (s *Service) TestEndpoint(ctx context.Context, merchantID, endpointID string) (ledger.Delivery, error) {
	e, err := s.Endpoint(ctx, merchantID, endpointID)
	if err != nil {
		return ledger.Delivery{}, err
	}
	secrets, err := s.open(ctx, e)
	if err != nil {
		return ledger.Delivery{}, err
	}
	signer, err := webhook.NewSigner(secrets...)
	if err != nil {
		return ledger.Delivery{}, fmt.Errorf("test webhook endpoint: %w", err)
	}
	to, err := url.Parse(e.URL)
	if err != nil {
		return ledger.Delivery{}, errors.New("the endpoint has no URL")
	}
	now := s.Clock()
	event := ledger.Event{ID: id.New(id.Event, now), Type: webhook.Test, Data: "{}", CreatedAt: now}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	o := s.send(s.http, blank(ctx, to), event, signer, now)
	d := ledger.Delivery{
		EndpointID: e.ID, EventID: event.ID, Status: ledger.DeliveryDelivered, Attempts: 1, HTTPStatus: o.status, Error: o.problem,
		Answer: o.answer, TriedAt: now, CreatedAt: now,
	}
	if !o.ok() {
		d.Status = ledger.DeliveryFailed
	}
	return d, nil
}
