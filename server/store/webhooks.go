package store

import (
	"context"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

// MaxWebhookEndpoints limits the endpoints of a merchant.
const MaxWebhookEndpoints = 16

// ErrEndpointExists reports that the merchant has an endpoint with this URL.
var ErrEndpointExists = errors.New("store: webhook endpoint exists")

// ErrLeaseLost reports an endpoint that is deleted, or on lease to another owner.
var ErrLeaseLost = errors.New("store: lease of webhook endpoint lost")

// ErrTooManyEndpoints reports that the merchant has [MaxWebhookEndpoints] endpoints.
var ErrTooManyEndpoints = errors.New("store: too many webhook endpoints")

// WebhookEndpoint is a URL that a merchant's events are sent to.
type WebhookEndpoint struct {
	// ID identifies the endpoint.
	ID string
	// MerchantID identifies the merchant.
	MerchantID string
	// URL receives the events.
	URL string
	// Types are the types of events that the endpoint receives. Empty: all.
	Types []webhook.Type
	// Disabled is the reason for which the endpoint was disabled; empty while it is enabled.
	Disabled string
	// Secret is the sealed signing secret.
	Secret []byte
	// PreviousSecret is the sealed secret before the last rotation; empty if there is none.
	// Events are signed with both until PreviousUntil.
	PreviousSecret []byte
	// PreviousUntil is the end of the validity of PreviousSecret.
	PreviousUntil time.Time
	// FailingSince is the time of the first failure in a row; zero if the last attempt succeeded.
	FailingSince time.Time
	// Failures is the number of failures in a row.
	Failures int
	// PausedUntil is the time before which nothing is sent.
	PausedUntil time.Time
	// Version counts the redeliveries, rotations and disablings. The holder of the lease
	// reads the endpoint again when it changes.
	Version int64
	// StartOffset is the end of the merchant's stream at the time of creation.
	StartOffset int64
	// Offset is the offset up to which every event was delivered or has a [Delivery].
	Offset int64
	// CreatedAt is the time of creation.
	CreatedAt time.Time
}

// Wants reports whether events of a type are sent to the endpoint.
func (e WebhookEndpoint) Wants(t webhook.Type) bool {
	for _, wanted := range e.Types {
		if wanted == t {
			return true
		}
	}
	return len(e.Types) == 0
}

// InferredDelivery returns the delivery of an event that has no stored delivery: it was
// delivered at the first attempt, or is still ahead of the endpoint's offset. It
// returns false if the event is not sent to the endpoint.
func (e WebhookEndpoint) InferredDelivery(of ledger.Event) (Delivery, bool) {
	d := Delivery{EndpointID: e.ID, EventID: of.ID, Lane: of.MandateID, Seq: of.Seq, Status: DeliveryPending, CreatedAt: of.CreatedAt}
	if of.StreamOffset <= e.Offset {
		d.Status, d.Attempts = DeliveryDelivered, 1
	}
	return d, of.StreamOffset > e.StartOffset && e.Wants(of.Type) && (e.Disabled == "" || d.Status == DeliveryDelivered)
}

// DeliveryStatus is the state of the delivery of one event to one endpoint.
type DeliveryStatus string

// The states of a delivery. Only pending ones are sent.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is one event for one endpoint. It is stored if it failed, if it waits behind
// one that failed, or if it is sent again; see [WebhookEndpoint.InferredDelivery].
type Delivery struct {
	// EndpointID identifies the endpoint.
	EndpointID string
	// EventID identifies the event.
	EventID string
	// Lane groups deliveries that are sent in the order of Seq: the mandate's id. A
	// redelivery has its own lane.
	Lane string
	// Seq is the number of the event within its mandate.
	Seq int64
	// Status is the delivery's state.
	Status DeliveryStatus
	// Attempts is the number of attempts.
	Attempts int
	// Next is the time before which the delivery is not sent.
	Next time.Time
	// HTTPStatus is the status of the last response; zero if there was none.
	HTTPStatus int
	// Error is the error of the last attempt.
	Error string
	// Answer is the beginning of the last response with a status other than 2xx.
	Answer string
	// TriedAt is the time of the last attempt.
	TriedAt time.Time
	// CreatedAt is the time at which the delivery was stored.
	CreatedAt time.Time
}

// DueDelivery is a stored delivery with its event.
type DueDelivery struct {
	Delivery

	// Event is the event to deliver.
	Event ledger.Event
}

// EndpointNews holds the values that the holder of an endpoint's lease follows.
type EndpointNews struct {
	// Version is the version of the endpoint.
	Version int64
	// StreamEnd is the last offset of the merchant's stream.
	StreamEnd int64
}

// EndpointState holds the fields of an endpoint that delivery attempts change; see
// [WebhookEndpoint].
type EndpointState struct {
	// EndpointID identifies the endpoint.
	EndpointID string
	// Offset is the new offset.
	Offset int64
	// FailingSince is the time of the first failure in a row.
	FailingSince time.Time
	// Failures is the number of failures in a row.
	Failures int
	// PausedUntil is the time before which nothing is sent.
	PausedUntil time.Time
}

// Webhooks stores webhook endpoints with their leases and offsets, and deliveries. None of
// it decides about money. Methods that name one row return [ledger.ErrNotFound] if it does
// not exist.
type Webhooks interface {
	// WebhookEndpoints returns a merchant's endpoints, oldest first.
	WebhookEndpoints(ctx context.Context, merchantID string) ([]WebhookEndpoint, error)
	// WebhookEndpoint returns an endpoint.
	WebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error)
	// AddWebhookEndpoint adds an endpoint at the end of its merchant's stream. It returns
	// [ErrTooManyEndpoints], [ErrEndpointExists], and [ledger.ErrConflict] if another one was
	// added at the same time: try again.
	AddWebhookEndpoint(ctx context.Context, e WebhookEndpoint) error
	// RotateWebhookSecret replaces the secret that is sealed as previous, which stays
	// valid until a time. It returns [ledger.ErrConflict] if the secret is another one by now.
	RotateWebhookSecret(ctx context.Context, id string, fresh, previous []byte, until time.Time) error
	// DisableWebhookEndpoint reports whether the endpoint was enabled before.
	DisableWebhookEndpoint(ctx context.Context, id, reason string) (bool, error)
	// DeleteWebhookEndpoint deletes an endpoint with its deliveries.
	DeleteWebhookEndpoint(ctx context.Context, id string) error
	// Redeliver stores a pending delivery of an event for each endpoint, in a lane of its
	// own. An attempt that is under way does not change it.
	Redeliver(ctx context.Context, eventID string, endpointIDs []string, now time.Time) error

	// DueWebhookEndpoints lists endpoints without a lease that have work: those whose time
	// has come, the earliest first, and those of the given merchants that are behind the
	// end of their stream.
	DueWebhookEndpoints(ctx context.Context, merchants []string, now time.Time, limit int) ([]string, error)
	// BehindWebhookEndpoints lists endpoints of any merchant without a lease that are behind
	// the end of their stream. It reads all endpoints.
	BehindWebhookEndpoints(ctx context.Context, now time.Time, limit int) ([]string, error)
	// LeaseWebhookEndpoints leases those of the endpoints that are enabled and have no lease.
	// A released endpoint has none, even if the clock went back since.
	LeaseWebhookEndpoints(ctx context.Context, owner string, ids []string, now, until time.Time) ([]WebhookEndpoint, error)
	// ExtendWebhookLeases extends the leases that owner holds, and returns the ids of their
	// endpoints. A lease whose answer was lost is not among them, and ends.
	ExtendWebhookLeases(ctx context.Context, owner string, ids []string, until time.Time) ([]string, error)
	// WebhookNews returns the news of every endpoint that owner has on lease.
	WebhookNews(ctx context.Context, owner string) (map[string]EndpointNews, error)
	// ReleaseWebhookEndpoint ends a lease, if owner still has it. The endpoint is due again at
	// wake (zero: at the next event), or at once if its version is not e's any more.
	ReleaseWebhookEndpoint(ctx context.Context, owner string, e WebhookEndpoint, now, wake time.Time) error
	// FreeWebhookLeases ends all leases and pauses if the store belongs to one process, which
	// is the caller's: their owners are gone, and the clock may have gone back since. Retries
	// that would be due after latest are due now.
	FreeWebhookLeases(ctx context.Context, now, latest time.Time) error
	// SaveEndpoints saves the states of those endpoints that owner has on lease; an empty
	// owner stands for no lease. An offset never goes back.
	SaveEndpoints(ctx context.Context, owner string, states []EndpointState) error

	// HeldLanes returns those of the lanes that have a pending delivery to the endpoint.
	HeldLanes(ctx context.Context, endpointID string, lanes []string) ([]string, error)
	// DueLanes lists lanes after one, in order, whose first pending delivery may be sent.
	DueLanes(ctx context.Context, endpointID, from string, now time.Time, limit int) ([]string, error)
	// RetryLanes lists lanes with a delivery that failed before and is due, the earliest first.
	RetryLanes(ctx context.Context, endpointID string, now time.Time, limit int) ([]string, error)
	// LaneDeliveries lists the first pending deliveries of a lane, in order, due or not.
	LaneDeliveries(ctx context.Context, endpointID, lane string, limit int) ([]DueDelivery, error)
	// NextRetry returns when the first delivery that failed before is due; zero: there is none.
	NextRetry(ctx context.Context, endpointID string) (time.Time, error)
	// SaveDeliveries saves different deliveries in one transaction, to endpoints that owner has
	// on lease; an empty owner stands for no lease. It returns [ErrLeaseLost] if one of them
	// is deleted or has another owner; nothing is saved then. So an instance that stalled
	// beyond its lease does not store what its successor has delivered. It skips deliveries
	// that have no more attempts than the stored one, and those whose event is in another
	// lane since: that one is a redelivery.
	SaveDeliveries(ctx context.Context, owner string, all []Delivery) error
	// EventDeliveries lists an event's deliveries to its merchant's endpoints, stored or
	// inferred, the oldest endpoint first. The event is as the store returned it.
	EventDeliveries(ctx context.Context, e ledger.Event) ([]Delivery, error)
	// Deliveries lists an endpoint's stored deliveries of a status, the latest events first.
	Deliveries(ctx context.Context, endpointID string, status DeliveryStatus, limit int) ([]Delivery, error)
}
