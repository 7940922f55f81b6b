package api

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// Webhooks manages a merchant's endpoints and events. It returns ledger.ErrNotFound for
// those of another merchant.
type Webhooks interface {
	CreateEndpoint(ctx context.Context, merchantID, url string, types []webhook.Type) (store.WebhookEndpoint, string, error)
	Endpoints(ctx context.Context, merchantID string) ([]store.WebhookEndpoint, error)
	Endpoint(ctx context.Context, merchantID, endpointID string) (store.WebhookEndpoint, error)
	DeleteEndpoint(ctx context.Context, merchantID, endpointID string) error
	RotateSecret(ctx context.Context, merchantID, endpointID string) (store.WebhookEndpoint, string, error)
	TestEndpoint(ctx context.Context, merchantID, endpointID string) (store.Delivery, error)
	// Events returns the events between two cursors, newest first. If there is none, it
	// waits for one.
	Events(ctx context.Context, merchantID, before, after string, limit int, wait time.Duration) ([]ledger.Event, error)
	Redeliver(ctx context.Context, merchantID, eventID string) (int, error)
	// Deliveries returns the delivery of an event to each endpoint.
	Deliveries(ctx context.Context, merchantID, eventID string) ([]store.Delivery, error)
	// Body returns an event as sent to endpoints.
	Body(e ledger.Event) []byte
}

// maxURL limits the length of an endpoint's URL, in bytes.
const maxURL = 2048

func (a *API) createEndpoint(ctx context.Context, c call[client.WebhookEndpointParams]) (reply, error) {
	if err := a.permit(ctx, c.caller, client.ScopeRead); err != nil { // a receiver of events reads payments
		return reply{}, err
	}
	if err := CheckReceiver(c.In.URL, a.Loopback); err != nil {
		return reply{}, invalid("url", err.Error())
	}
	types := slices.Clone(c.In.Events)
	slices.Sort(types)
	types = slices.Compact(types)
	for _, t := range types {
		if !slices.Contains(webhook.Types(), t) {
			return reply{}, invalid("events", "must name event types, such as payment.succeeded")
		}
	}
	e, secret, err := a.Webhooks.CreateEndpoint(ctx, c.Merchant.ID, c.In.URL, types)
	if errors.Is(err, store.ErrEndpointExists) {
		return reply{}, invalid("url", "has an endpoint of this account already; delete it first, or use another URL")
	}
	if errors.Is(err, store.ErrTooManyEndpoints) {
		return reply{}, invalid("url", "is one endpoint too many: an account has at most 16; delete one first")
	}
	if err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "endpoint.create", e.ID)
	a.Audit.Record(ctx, audit.SecretCreated, slog.String("merchantId", c.Merchant.ID), slog.String("endpointId", e.ID))
	return reply{Body: a.endpointView(e, secret)}, nil
}

// CheckReceiver returns an error for a URL that can never receive events. The address of a
// host name is checked when it is dialed. The error's text fits after the name of a field.
func CheckReceiver(address string, allowLoopback bool) error {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return errors.New("is required")
	case err != nil || u.Hostname() == "" || len(address) > maxURL || !text.Clean(address):
		return errors.New("must be an absolute URL of at most 2048 bytes")
	case u.User != nil || u.Fragment != "":
		return errors.New("must have no user and no fragment")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && allowLoopback && loopback.Host(u.Hostname()):
		return nil
	}
	return errors.New("must be https; in a sandbox on your own machine, http to a loopback address")
}

func (a *API) endpointView(e store.WebhookEndpoint, secret string) client.WebhookEndpoint {
	v := client.WebhookEndpoint{
		ID: e.ID, URL: e.URL, Events: e.Types, Status: client.EndpointEnabled, DisabledReason: e.Disabled, Secret: secret,
		FailingSince: e.FailingSince, CreatedAt: e.CreatedAt,
	}
	if v.Events == nil {
		v.Events = []webhook.Type{}
	}
	if e.Disabled != "" {
		v.Status = client.EndpointDisabled
	}
	if a.Clock().Before(e.PreviousUntil) {
		v.PreviousSecretExpiresAt = e.PreviousUntil
	}
	return v
}

func (a *API) endpoints(ctx context.Context, c call[struct{}]) (reply, error) {
	all, err := a.Webhooks.Endpoints(ctx, c.Merchant.ID)
	if err != nil {
		return reply{}, err
	}
	list := client.WebhookEndpointList{Data: []client.WebhookEndpoint{}}
	for _, e := range all {
		list.Data = append(list.Data, a.endpointView(e, ""))
	}
	return reply{Body: list}, nil
}

func (a *API) endpoint(ctx context.Context, c call[struct{}]) (reply, error) {
	e, err := a.Webhooks.Endpoint(ctx, c.Merchant.ID, c.Request.PathValue("endpointId"))
	if err != nil {
		return reply{}, err
	}
	return reply{Body: a.endpointView(e, "")}, nil
}

func (a *API) deleteEndpoint(ctx context.Context, c call[struct{}]) (reply, error) {
	id := c.Request.PathValue("endpointId")
	if err := a.Webhooks.DeleteEndpoint(ctx, c.Merchant.ID, id); err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "endpoint.delete", id)
	return reply{Body: client.DeletedEndpoint{ID: id, Deleted: true}}, nil
}

func (a *API) rotateSecret(ctx context.Context, c call[struct{}]) (reply, error) {
	if err := a.permit(ctx, c.caller, client.ScopeRead); err != nil {
		return reply{}, err
	}
	e, secret, err := a.Webhooks.RotateSecret(ctx, c.Merchant.ID, c.Request.PathValue("endpointId"))
	if errors.Is(err, ledger.ErrConflict) {
		return reply{}, refuse(client.ErrUnavailable, "The secret is being rotated by another request. Try again.")
	}
	if err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "endpoint.rotate-secret", e.ID)
	a.Audit.Record(ctx, audit.SecretRotated, slog.String("merchantId", c.Merchant.ID), slog.String("endpointId", e.ID))
	return reply{Body: a.endpointView(e, secret)}, nil
}

func (a *API) testEndpoint(ctx context.Context, c call[struct{}]) (reply, error) {
	d, err := a.Webhooks.TestEndpoint(ctx, c.Merchant.ID, c.Request.PathValue("endpointId"))
	if err != nil {
		return reply{}, err
	}
	return reply{Body: client.TestDelivery{
		EventID: d.EventID, Delivered: d.Status == store.DeliveryDelivered, HTTPStatus: d.HTTPStatus, Error: d.Error, Answer: d.Answer,
	}}, nil
}
