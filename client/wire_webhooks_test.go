package client_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

const (
	endpointAnswer = `{"id":"whe_1","url":"https://shop.example/hooks","events":["payment.failed"],"status":"enabled","createdAt":"2026-11-21T12:00:00.000Z"`
	secretAnswer   = endpointAnswer + `,"secret":"whsec_1","formerSecretExpiresAt":"2026-11-21T12:00:00.000Z"}`
	eventAnswer    = `{"id":"evt_1","type":"payment.failed","data":{"a":1},"created_at":"2026-11-21T12:00:00.000Z","livemode":true}`
)

var endpoint = client.WebhookEndpoint{
	ID: "whe_1", URL: "https://shop.example/hooks", Events: []webhook.Type{webhook.PaymentFailed}, Status: client.EndpointEnabled, CreatedAt: noon,
}

func withSecret(e client.WebhookEndpoint) client.WebhookEndpoint {
	e.Secret, e.PreviousSecretExpiresAt = "whsec_1", noon
	return e
}

// webhookMethods are the methods about endpoints and events.
var webhookMethods = []method{
	{
		"create webhook endpoint", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: endpoint.URL, Events: endpoint.Events})
		},
		"POST /v1/webhook_endpoints", `{"url":"https://shop.example/hooks","events":["payment.failed"]}`, secretAnswer, withSecret(endpoint),
	},
	{
		"list webhook endpoints", func(ctx context.Context, c *client.Client) (any, error) { return c.WebhookEndpoints(ctx) },
		"GET /v1/webhook_endpoints", "", `{"data":[` + endpointAnswer + `}]}`,
		client.WebhookEndpointList{Data: []client.WebhookEndpoint{endpoint}},
	},
	{
		"webhook endpoint", func(ctx context.Context, c *client.Client) (any, error) { return c.WebhookEndpoint(ctx, "whe_1") },
		"GET /v1/webhook_endpoints/whe_1", "", endpointAnswer + `}`, endpoint,
	},
	{
		"delete webhook endpoint", func(ctx context.Context, c *client.Client) (any, error) {
			return c.DeleteWebhookEndpoint(ctx, "whe_1")
		},
		"DELETE /v1/webhook_endpoints/whe_1", "", `{"id":"whe_1","deleted":true}`,
		client.DeletedEndpoint{ID: "whe_1", Deleted: true},
	},
	{
		"rotate webhook secret", func(ctx context.Context, c *client.Client) (any, error) {
			return c.RotateWebhookSecret(ctx, "whe_1")
		},
		"POST /v1/webhook_endpoints/whe_1/rotate_secret", "", secretAnswer, withSecret(endpoint),
	},
	{
		"test webhook endpoint", func(ctx context.Context, c *client.Client) (any, error) {
			return c.TestWebhookEndpoint(ctx, "whe_1")
		},
		"POST /v1/webhook_endpoints/whe_1/test", "", `{"eventId":"evt_1","delivered":false,"httpStatus":500,"error":"answered 500","answer":"oops"}`,
		client.TestDelivery{EventID: "evt_1", HTTPStatus: 500, Error: "answered 500", Answer: "oops"},
	},
	{
		"events", func(ctx context.Context, c *client.Client) (any, error) {
			return c.EventsPage(ctx, client.EventListParams{Limit: 5, StartingAfter: "evt_9", EndingBefore: "evt_0", Wait: 2500 * time.Millisecond})
		},
		"GET /v1/events?ending_before=evt_0&limit=5&starting_after=evt_9&wait=2", "", `{"hasMore":true,"data":[` + eventAnswer + `]}`,
		client.EventPage{HasMore: true, Data: []webhook.Event{
			{ID: "evt_1", Type: webhook.PaymentFailed, Data: json.RawMessage(`{"a":1}`), CreatedAt: noon, Livemode: true},
		}},
	},
	{
		"redeliver event", func(ctx context.Context, c *client.Client) (any, error) { return c.RedeliverEvent(ctx, "evt_1") },
		"POST /v1/events/evt_1/redeliver", "", `{"eventId":"evt_1","endpoints":2}`,
		client.Redelivery{EventID: "evt_1", Endpoints: 2},
	},
	{
		"deliveries of an event", func(ctx context.Context, c *client.Client) (any, error) { return c.EventDeliveries(ctx, "evt_1") },
		"GET /v1/events/evt_1/deliveries", "",
		`{"data":[{"endpointId":"whe_1","url":"https://shop.example/hooks","status":"pending","attempts":3,"httpStatus":503,"error":"answered 503","answer":"later","attemptedAt":"2026-11-21T12:00:00.000Z","nextAttemptAt":"2026-11-21T12:00:00.000Z"}]}`,
		client.DeliveryList{Data: []client.Delivery{{
			EndpointID: "whe_1", URL: endpoint.URL, Status: client.DeliveryPending, Attempts: 3, HTTPStatus: 503, Error: "answered 503",
			Answer: "later", AttemptedAt: noon, NextAttemptAt: noon,
		}}},
	},
}
