package client

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// WebhookEndpointParams are the parameters of [Client.CreateWebhookEndpoint].
type WebhookEndpointParams struct {
	// URL receives the events: https, or http to a loopback address of a sandbox that
	// runs on the same machine. Required.
	URL string `json:"url"`
	// Events lists the event types to send. Default: all, including those of later versions.
	Events []webhook.Type `json:"events,omitempty"`
}

// EndpointStatus is the state of a webhook endpoint.
type EndpointStatus string

// The states of an endpoint. A disabled endpoint stays disabled: create another.
const (
	EndpointEnabled  EndpointStatus = "enabled"
	EndpointDisabled EndpointStatus = "disabled"
)

// WebhookEndpoint is a URL that receives events. Printed or logged, it hides its Secret.
type WebhookEndpoint struct {
	// ID is the endpoint's id (whe_…).
	ID string `json:"id"`
	// URL receives the events.
	URL string `json:"url"`
	// Events lists the event types that are sent. Empty means all.
	Events []webhook.Type `json:"events"`
	// Status is enabled or disabled.
	Status EndpointStatus `json:"status"`
	// DisabledReason is the reason why the endpoint is disabled.
	DisabledReason string `json:"disabledReason,omitempty"`
	// Secret signs the deliveries. It is returned only when the endpoint is created and
	// when the secret is rotated.
	Secret string `json:"secret,omitempty"`
	// PreviousSecretExpiresAt is when deliveries stop being signed with the previous
	// secret as well. It is zero if there is none.
	PreviousSecretExpiresAt time.Time `json:"formerSecretExpiresAt,omitzero"`
	// FailingSince is the beginning of the current series of failed deliveries. After
	// five days the endpoint is disabled. It is zero if the last delivery succeeded.
	FailingSince time.Time `json:"failingSince,omitzero"`
	// CreatedAt is when the endpoint was created.
	CreatedAt time.Time `json:"createdAt"`
}

// WebhookEndpointList holds all endpoints of a merchant.
type WebhookEndpointList struct {
	// Data holds the endpoints, oldest first.
	Data []WebhookEndpoint `json:"data"`
}

// DeletedEndpoint is the result of [Client.DeleteWebhookEndpoint].
type DeletedEndpoint = Deleted

// Deleted names what was deleted.
type Deleted struct {
	// ID is its id.
	ID string `json:"id"`
	// Deleted is always true.
	Deleted bool `json:"deleted"`
}

// TestDelivery is the result of [Client.TestWebhookEndpoint].
type TestDelivery struct {
	// EventID is the id of the test event (evt_…).
	EventID string `json:"eventId"`
	// Delivered reports whether the receiver accepted the event.
	Delivered bool `json:"delivered"`
	// HTTPStatus is the status of the receiver's response. It is zero if there was none.
	HTTPStatus int `json:"httpStatus,omitzero"`
	// Error is the reason why the event was not delivered.
	Error string `json:"error,omitempty"`
	// Answer is the beginning of the receiver's response if it was not a success.
	Answer string `json:"answer,omitempty"`
}

// CreateWebhookEndpoint creates an endpoint: POST /v1/webhook_endpoints. Only this
// response contains the secret. The call is retried only if the service cannot have
// processed it.
//
// Errors: [ErrValidation] for an invalid URL or event type, and for a 17th endpoint,
// and those that every call may return (see the package comment).
func (c *Client) CreateWebhookEndpoint(ctx context.Context, p WebhookEndpointParams) (WebhookEndpoint, error) {
	return do(ctx, c, call{
		doing: "create webhook endpoint", method: http.MethodPost, pattern: "/v1/webhook_endpoints", body: p,
	}, func(e *WebhookEndpoint, _ answer) bool { return e.ID != "" && e.Secret != "" })
}

// WebhookEndpoints returns all endpoints: GET /v1/webhook_endpoints.
//
// Errors: those that every call may return (see the package comment).
func (c *Client) WebhookEndpoints(ctx context.Context) (WebhookEndpointList, error) {
	return do(ctx, c, call{
		doing: "list webhook endpoints", method: http.MethodGet, pattern: "/v1/webhook_endpoints", idempotent: true,
	}, func(_ *WebhookEndpointList, a answer) bool { return bytes.Contains(a.body, []byte(`"data"`)) })
}

// WebhookEndpoint returns one endpoint: GET /v1/webhook_endpoints/{endpointId}.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) WebhookEndpoint(ctx context.Context, endpointID string) (WebhookEndpoint, error) {
	return do(ctx, c, call{
		doing: "read webhook endpoint", method: http.MethodGet, idempotent: true,
		pattern: "/v1/webhook_endpoints/{endpointId}", value: endpointID,
	}, func(e *WebhookEndpoint, _ answer) bool { return e.ID != "" })
}

// DeleteWebhookEndpoint deletes an endpoint and its pending deliveries:
// DELETE /v1/webhook_endpoints/{endpointId}.
//
// Errors: [ErrNotFound], also if an earlier attempt of this call deleted it, and
// those that every call may return (see the package comment).
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, endpointID string) (DeletedEndpoint, error) {
	return do(ctx, c, call{
		doing: "delete webhook endpoint", method: http.MethodDelete, idempotent: true,
		pattern: "/v1/webhook_endpoints/{endpointId}", value: endpointID,
	}, func(d *DeletedEndpoint, _ answer) bool { return d.Deleted })
}

// RotateWebhookSecret gives an endpoint a new secret:
// POST /v1/webhook_endpoints/{endpointId}/rotate_secret. Only this response contains
// it. For 24 hours deliveries are signed with both secrets: configure the receiver to
// accept both, then remove the previous one.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) RotateWebhookSecret(ctx context.Context, endpointID string) (WebhookEndpoint, error) {
	return do(ctx, c, call{
		doing: "rotate webhook secret", method: http.MethodPost,
		pattern: "/v1/webhook_endpoints/{endpointId}/rotate_secret", value: endpointID,
	}, func(e *WebhookEndpoint, _ answer) bool { return e.ID != "" && e.Secret != "" })
}

// TestWebhookEndpoint sends an event of type [webhook.Test] to an endpoint, once and
// immediately: POST /v1/webhook_endpoints/{endpointId}/test. If the receiver does not
// accept it, the error is nil and Delivered is false.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) TestWebhookEndpoint(ctx context.Context, endpointID string) (TestDelivery, error) {
	return do(ctx, c, call{
		doing: "test webhook endpoint", method: http.MethodPost, idempotent: true,
		pattern: "/v1/webhook_endpoints/{endpointId}/test", value: endpointID,
	}, func(d *TestDelivery, _ answer) bool { return d.EventID != "" })
}
