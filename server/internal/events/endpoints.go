package events

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/webhook"
)

// overlap is how long deliveries are signed with the previous secret too.
const overlap = 24 * time.Hour

func label(endpointID string) vault.Label {
	return vault.Label{Purpose: "webhook-secret", Owner: endpointID}
}

// CreateEndpoint adds an endpoint and returns it with its secret, which is shown
// this once. It returns store.ErrTooManyEndpoints and store.ErrEndpointExists.
func (s *Service) CreateEndpoint(ctx context.Context, merchantID, to string, types []webhook.Type) (store.WebhookEndpoint, string, error) {
	now := s.Clock()
	e := store.WebhookEndpoint{ID: id.New(id.WebhookEndpoint, now), MerchantID: merchantID, URL: to, Types: types, CreatedAt: now}
	secret := webhook.NewSecret()
	var err error
	if e.Secret, err = s.Vault.Seal(ctx, label(e.ID), []byte(secret)); err == nil {
		err = ledger.ErrConflict
	}
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
	secret := webhook.NewSecret()
	sealed, err := s.Vault.Seal(ctx, label(e.ID), []byte(secret))
	if err != nil {
		return e, "", fmt.Errorf("rotate webhook secret: %w", err)
	}
	until := s.Clock().Add(overlap)
	if err := s.Store.RotateWebhookSecret(ctx, e.ID, sealed, e.Secret, until); err != nil {
		return e, "", fmt.Errorf("rotate webhook secret: %w", err)
	}
	if w := s.all()[e.ID]; w != nil {
		w.awaitRotation(ctx)
	}
	e.Secret, e.PreviousSecret, e.PreviousUntil = sealed, e.Secret, until
	return e, secret, nil
}

// awaitRotation has the worker read its endpoint's secrets again, and waits until all that
// was signed before has been answered.
func (w *worker) awaitRotation(ctx context.Context) {
	answered := make(chan struct{})
	select {
	case w.rotated <- answered:
	case <-w.ended:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

// target is what deliveries to an endpoint are sent with.
type target struct {
	url    *url.URL
	signer *webhook.Signer
	until  time.Time // the previous secret signs as well until then; zero: there is none
}

// open opens the secrets that an endpoint's deliveries are signed with now.
func (s *Service) open(ctx context.Context, e store.WebhookEndpoint) (_ *target, err error) {
	to, sealed := &target{}, [][]byte{e.Secret}
	if to.url, err = url.Parse(e.URL); err != nil {
		return nil, errors.New("the endpoint has no URL")
	}
	if len(e.PreviousSecret) > 0 && s.Clock().Before(e.PreviousUntil) {
		sealed, to.until = append(sealed, e.PreviousSecret), e.PreviousUntil
	}
	var secrets []string
	for _, b := range sealed {
		secret, err := s.Vault.Open(ctx, label(e.ID), b)
		if err != nil {
			return nil, fmt.Errorf("webhook endpoint %s: open signing secret: %w", e.ID, err)
		}
		secrets = append(secrets, string(secret))
		clear(secret)
	}
	if to.signer, err = webhook.NewSigner(secrets...); err != nil {
		return nil, fmt.Errorf("webhook endpoint %s: %w", e.ID, err)
	}
	return to, nil
}

// TestEndpoint sends a test event to an endpoint now, and returns the delivery. Errors are
// those of [Service.Endpoint].
func (s *Service) TestEndpoint(ctx context.Context, merchantID, endpointID string) (store.Delivery, error) {
	e, err := s.Endpoint(ctx, merchantID, endpointID)
	if err != nil {
		return store.Delivery{}, err
	}
	to, err := s.open(ctx, e)
	if err != nil {
		return store.Delivery{}, err
	}
	now := s.Clock()
	event := ledger.Event{ID: id.New(id.Event, now), Type: webhook.Test, Data: "{}", CreatedAt: now}
	o := s.post(ctx, to, event, now)
	d := store.Delivery{
		EndpointID: e.ID, EventID: event.ID, Status: store.DeliveryDelivered, Attempts: 1, HTTPStatus: o.status, Error: o.problem,
		Answer: o.answer, TriedAt: now, CreatedAt: now,
	}
	if !o.ok() {
		d.Status = store.DeliveryFailed
	}
	return d, nil
}
