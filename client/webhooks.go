package client

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// WebhookEndpointParams asks for an endpoint: POST /v1/webhook_endpoints.
type WebhookEndpointParams struct {
	// URL is where events are sent: https, or http to a loopback address in a
	// sandbox on the own machine.
	URL string `json:"url"`
	// Events are the types that are sent. Default: all, also those of later versions.
	Events []webhook.Type `json:"events,omitempty"`
}

// EndpointStatus is the state of a webhook endpoint.
type EndpointStatus string

// The states of an endpoint. A disabled one stays so: add it anew.
const (
	EndpointEnabled  EndpointStatus = "enabled"
	EndpointDisabled EndpointStatus = "disabled"
)

// WebhookEndpoint is an address that events are sent to. Printed or logged, it
// hides its Secret.
type WebhookEndpoint struct {
	ID     string         `json:"id"`
	URL    string         `json:"url"`
	Events []webhook.Type `json:"events"` // empty: all
	Status EndpointStatus `json:"status"`
	// DisabledReason says why it is disabled.
	DisabledReason string `json:"disabledReason,omitempty"`
	// Secret signs the deliveries. It is told once, when the endpoint is created
	// and when the secret is rotated.
	Secret string `json:"secret,omitempty"`
	// FormerSecretExpiresAt is until when deliveries are signed with the secret
	// before the last rotation too.
	FormerSecretExpiresAt time.Time `json:"formerSecretExpiresAt,omitzero"`
	// FailingSince is since when every delivery has failed. After five days the
	// endpoint is disabled.
	FailingSince time.Time `json:"failingSince,omitzero"`
	CreatedAt    time.Time `json:"createdAt"`
}

// WebhookEndpointList are all endpoints of the merchant, the oldest first.
type WebhookEndpointList struct {
	Data []WebhookEndpoint `json:"data"`
}

// DeletedEndpoint is the answer to a deletion.
type DeletedEndpoint struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// TestDelivery is what came of a test event.
type TestDelivery struct {
	EventID   string `json:"eventId"`
	Delivered bool   `json:"delivered"`
	// HTTPStatus is the receiver's answer; zero where there was none.
	HTTPStatus int `json:"httpStatus,omitempty"`
	// Error says why it was not delivered.
	Error string `json:"error,omitempty"`
	// Answer is the beginning of the receiver's answer, where it was no success.
	Answer string `json:"answer,omitempty"`
}

// EventListParams bounds a list of events, newest first.
type EventListParams struct {
	// Limit is the page size: 1 to 100. Default: 10.
	Limit int
	// StartingAfter is the id of the last event already seen. Default: from the newest on.
	StartingAfter string
	// EndingBefore asks for events newer than the one with this id.
	EndingBefore string
	// Wait is how long the service waits for an event where there is none, in whole
	// seconds up to 10. Default: not at all.
	Wait time.Duration
}

// EventPage is one page of a list of events.
type EventPage struct {
	HasMore bool            `json:"hasMore"`
	Data    []webhook.Event `json:"data"`
}

// Redelivery is the answer to [Client.RedeliverEvent].
type Redelivery struct {
	EventID string `json:"eventId"`
	// Endpoints is how many endpoints it is sent to again.
	Endpoints int `json:"endpoints"`
}

// DeliveryStatus is the state of the delivery of an event to an endpoint.
type DeliveryStatus string

// The states of a delivery. A failed one was given up; it can be sent again.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is what came of sending an event to one endpoint so far.
type Delivery struct {
	EndpointID string         `json:"endpointId"`
	URL        string         `json:"url"`
	Status     DeliveryStatus `json:"status"`
	Attempts   int            `json:"attempts"`
	// HTTPStatus is the receiver's last answer; zero where there was none, and for a
	// delivery that was taken at the first attempt.
	HTTPStatus int `json:"httpStatus,omitempty"`
	// Error says why the last attempt failed.
	Error string `json:"error,omitempty"`
	// Answer is the beginning of the receiver's last answer, where it was no success.
	Answer string `json:"answer,omitempty"`
	// AttemptedAt is zero for a delivery that was taken at the first attempt.
	AttemptedAt time.Time `json:"attemptedAt,omitzero"`
	// NextAttemptAt is when a pending one is sent at the earliest.
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"`
}

// DeliveryList are the deliveries of one event, one for each endpoint.
type DeliveryList struct {
	Data []Delivery `json:"data"`
}

// CreateWebhookEndpoint adds an endpoint: POST /v1/webhook_endpoints. Only this
// answer has the secret. It is sent again only where nothing can have happened.
//
// Errors: [ErrValidation] for a URL or type that cannot be, and where there are 16
// endpoints already, and those that every call may return (see the package comment).
func (c *Client) CreateWebhookEndpoint(ctx context.Context, p WebhookEndpointParams) (WebhookEndpoint, error) {
	return do(ctx, c, call{
		doing: "create webhook endpoint", method: http.MethodPost, pattern: "/v1/webhook_endpoints", body: p,
	}, func(e *WebhookEndpoint, _ answer) bool { return e.ID != "" && e.Secret != "" })
}

// WebhookEndpoints lists the endpoints: GET /v1/webhook_endpoints.
//
// Errors: those that every call may return (see the package comment).
func (c *Client) WebhookEndpoints(ctx context.Context) (WebhookEndpointList, error) {
	return do(ctx, c, call{
		doing: "list webhook endpoints", method: http.MethodGet, pattern: "/v1/webhook_endpoints", idempotent: true,
	}, func(_ *WebhookEndpointList, a answer) bool { return bytes.Contains(a.body, []byte(`"data"`)) })
}

// WebhookEndpoint reads one endpoint: GET /v1/webhook_endpoints/{endpointId}.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) WebhookEndpoint(ctx context.Context, endpointID string) (WebhookEndpoint, error) {
	return do(ctx, c, call{
		doing: "read webhook endpoint", method: http.MethodGet, idempotent: true,
		pattern: "/v1/webhook_endpoints/{endpointId}", value: endpointID,
	}, func(e *WebhookEndpoint, _ answer) bool { return e.ID != "" })
}

// DeleteWebhookEndpoint deletes an endpoint, and what was on its way to it:
// DELETE /v1/webhook_endpoints/{endpointId}.
//
// Errors: [ErrNotFound], also where an earlier attempt of this call deleted it, and
// those that every call may return (see the package comment).
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, endpointID string) (DeletedEndpoint, error) {
	return do(ctx, c, call{
		doing: "delete webhook endpoint", method: http.MethodDelete, idempotent: true,
		pattern: "/v1/webhook_endpoints/{endpointId}", value: endpointID,
	}, func(d *DeletedEndpoint, _ answer) bool { return d.Deleted })
}

// RotateWebhookSecret gives an endpoint a new secret, which only this answer has:
// POST /v1/webhook_endpoints/{endpointId}/rotate_secret. For 24 hours deliveries
// are signed with both; have the receiver accept both, then drop the former.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) RotateWebhookSecret(ctx context.Context, endpointID string) (WebhookEndpoint, error) {
	return do(ctx, c, call{
		doing: "rotate webhook secret", method: http.MethodPost,
		pattern: "/v1/webhook_endpoints/{endpointId}/rotate_secret", value: endpointID,
	}, func(e *WebhookEndpoint, _ answer) bool { return e.ID != "" && e.Secret != "" })
}

// TestWebhookEndpoint sends an event of the type [webhook.Test] to an endpoint now,
// once: POST /v1/webhook_endpoints/{endpointId}/test. That it was not delivered is
// no error.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) TestWebhookEndpoint(ctx context.Context, endpointID string) (TestDelivery, error) {
	return do(ctx, c, call{
		doing: "test webhook endpoint", method: http.MethodPost, idempotent: true,
		pattern: "/v1/webhook_endpoints/{endpointId}/test", value: endpointID,
	}, func(d *TestDelivery, _ answer) bool { return d.EventID != "" })
}

// EventsPage reads one page of the merchant's events of the last 30 days, newest
// first: GET /v1/events.
//
// Errors: [ErrValidation] for a limit or cursor that cannot be, and those that
// every call may return (see the package comment).
func (c *Client) EventsPage(ctx context.Context, p EventListParams) (EventPage, error) {
	q := url.Values{}
	for name, value := range map[string]int{"limit": p.Limit, "wait": int(p.Wait / time.Second)} {
		if value != 0 {
			q.Set(name, strconv.Itoa(value))
		}
	}
	for name, value := range map[string]string{"starting_after": p.StartingAfter, "ending_before": p.EndingBefore} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return do(ctx, c, call{
		doing: "list events", method: http.MethodGet, pattern: "/v1/events", query: q, idempotent: true,
	}, func(_ *EventPage, a answer) bool { return bytes.Contains(a.body, []byte(`"hasMore"`)) })
}

// RedeliverEvent sends an event again to the endpoints that want its type, in the
// background: POST /v1/events/{eventId}/redeliver.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) RedeliverEvent(ctx context.Context, eventID string) (Redelivery, error) {
	return do(ctx, c, call{
		doing: "redeliver event", method: http.MethodPost, idempotent: true,
		pattern: "/v1/events/{eventId}/redeliver", value: eventID,
	}, func(r *Redelivery, _ answer) bool { return r.EventID != "" })
}

// EventDeliveries tells what came of sending an event to each endpoint that wants
// its type: GET /v1/events/{eventId}/deliveries.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) EventDeliveries(ctx context.Context, eventID string) (DeliveryList, error) {
	return do(ctx, c, call{
		doing: "list deliveries", method: http.MethodGet, idempotent: true,
		pattern: "/v1/events/{eventId}/deliveries", value: eventID,
	}, func(_ *DeliveryList, a answer) bool { return bytes.Contains(a.body, []byte(`"data"`)) })
}
