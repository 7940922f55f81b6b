package client

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// EventListParams select a part of the list of events, newest first.
type EventListParams struct {
	// Limit is the page size: 1 to 100. Default: 10 for one page, 100 for an iterator.
	Limit int
	// StartingAfter is the id of the last event already seen. Default: the list starts
	// with the newest.
	StartingAfter string
	// EndingBefore selects events newer than the one with this id. Default: none.
	EndingBefore string
	// Wait is how long the service waits for an event if there is none yet, in whole
	// seconds up to 10. [Client.Events] ignores it. Default: it does not wait.
	Wait time.Duration
}

// EventPage is one page of a list of events.
type EventPage struct {
	// HasMore reports whether older events follow.
	HasMore bool `json:"hasMore"`
	// Data holds the events, newest first.
	Data []webhook.Event `json:"data"`
}

// Redelivery is the result of [Client.RedeliverEvent].
type Redelivery struct {
	// EventID is the id of the event (evt_…).
	EventID string `json:"eventId"`
	// Endpoints is the number of endpoints that receive the event again.
	Endpoints int `json:"endpoints"`
}

// DeliveryStatus is the state of the delivery of an event to an endpoint.
type DeliveryStatus string

// The states of a delivery. A failed delivery is not retried; [Client.RedeliverEvent]
// sends the event again.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is the state of the delivery of an event to one endpoint.
type Delivery struct {
	// EndpointID is the id of the endpoint (whe_…).
	EndpointID string `json:"endpointId"`
	// URL is the endpoint's URL.
	URL string `json:"url"`
	// Status is pending, delivered or failed.
	Status DeliveryStatus `json:"status"`
	// Attempts is the number of attempts so far.
	Attempts int `json:"attempts"`
	// HTTPStatus is the status of the receiver's last response. It is zero if there was
	// none, and for a delivery that succeeded at the first attempt.
	HTTPStatus int `json:"httpStatus,omitzero"`
	// Error is the reason why the last attempt failed.
	Error string `json:"error,omitempty"`
	// Answer is the beginning of the receiver's last response if it was not a success.
	Answer string `json:"answer,omitempty"`
	// AttemptedAt is the time of the last attempt. It is zero for a delivery that
	// succeeded at the first attempt.
	AttemptedAt time.Time `json:"attemptedAt,omitzero"`
	// NextAttemptAt is the earliest time of the next attempt of a pending delivery.
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"`
}

// DeliveryList holds the deliveries of one event.
type DeliveryList struct {
	// Data holds one delivery for each endpoint.
	Data []Delivery `json:"data"`
}

// EventsPage returns one page of the merchant's events of the last 30 days, newest
// first: GET /v1/events. If HasMore is true, the next page starts after the last event
// of this one.
//
// Errors: [ErrValidation] for an invalid limit or cursor, and those that
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

// Events returns an iterator over the merchant's events of the last 30 days, newest
// first. It reads pages as they are needed; Limit is the size of a page. It ends before
// the event EndingBefore, if that is set.
//
//	for e, err := range c.Events(ctx, client.EventListParams{}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// An error of [Client.EventsPage] ends the iteration, and is yielded with a zero Event.
// Each use of the iterator starts again.
func (c *Client) Events(ctx context.Context, p EventListParams) iter.Seq2[webhook.Event, error] {
	return pages("list events", p.StartingAfter, func(after string) ([]webhook.Event, bool, error) {
		page, err := c.EventsPage(ctx, EventListParams{Limit: cmp.Or(p.Limit, rangePage), StartingAfter: after, EndingBefore: p.EndingBefore})
		return page.Data, page.HasMore, err
	}, func(e webhook.Event) string { return e.ID })
}

// RedeliverEvent sends an event again, in the background, to the endpoints that
// subscribe to its type: POST /v1/events/{eventId}/redeliver.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) RedeliverEvent(ctx context.Context, eventID string) (Redelivery, error) {
	return do(ctx, c, call{
		doing: "redeliver event", method: http.MethodPost, idempotent: true,
		pattern: "/v1/events/{eventId}/redeliver", value: eventID,
	}, func(r *Redelivery, _ answer) bool { return r.EventID != "" })
}

// EventDeliveries returns the state of an event's delivery to each endpoint that
// subscribes to its type: GET /v1/events/{eventId}/deliveries.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) EventDeliveries(ctx context.Context, eventID string) (DeliveryList, error) {
	return do(ctx, c, call{
		doing: "list deliveries", method: http.MethodGet, idempotent: true,
		pattern: "/v1/events/{eventId}/deliveries", value: eventID,
	}, func(_ *DeliveryList, a answer) bool { return bytes.Contains(a.body, []byte(`"data"`)) })
}
