package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// MaxWebhookEndpoints is how many endpoints one merchant has at most.
const MaxWebhookEndpoints = 16

// ErrEndpointExists reports that the merchant has an endpoint with this URL.
var ErrEndpointExists = errors.New("ledger: webhook endpoint exists")

// ErrTooManyEndpoints: the merchant has [MaxWebhookEndpoints] already.
var ErrTooManyEndpoints = errors.New("ledger: too many webhook endpoints")

// WebhookEndpoint is an address that a merchant's events are sent to.
type WebhookEndpoint struct {
	ID           string
	MerchantID   string
	URL          string
	Types        []webhook.Type // empty: all
	Disabled     string         // why; empty while it is sent to
	Secret       []byte         // sealed
	Former       []byte         // the secret before the last rotation, sealed; empty: none
	FormerUntil  time.Time
	FailingSince time.Time // zero: the last attempt succeeded
	Failures     int       // attempts that failed in a row
	PausedUntil  time.Time // nothing is sent before
	WakeSeq      int64     // counts what is to be made again
	Since        int64     // the last place in its merchant's stream before it was added
	Place        int64     // the place it has come to: nothing is left up to there that has no [Delivery]
	CreatedAt    time.Time
}

// Wants tells whether events of a type are sent to the endpoint.
func (e WebhookEndpoint) Wants(t webhook.Type) bool {
	for _, wanted := range e.Types {
		if wanted == t {
			return true
		}
	}
	return len(e.Types) == 0
}

// Told tells what came of an event for which nothing is stored: it is still to be
// reached, or was taken at the first attempt. False: it is not sent to the endpoint.
func (e WebhookEndpoint) Told(of Event) (Delivery, bool) {
	d := Delivery{EndpointID: e.ID, EventID: of.ID, Lane: of.MandateID, Seq: of.Seq, Status: DeliveryPending, CreatedAt: of.CreatedAt}
	if of.Place <= e.Place {
		d.Status, d.Attempts = DeliveryDelivered, 1
	}
	return d, of.Place > e.Since && e.Wants(of.Type) && (e.Disabled == "" || d.Status == DeliveryDelivered)
}

// DeliveryStatus is the state of the delivery of one event to one endpoint.
type DeliveryStatus string

// The states of a delivery. Only pending ones are sent.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
)

// Delivery is one event on its way to one endpoint. It is stored where it failed,
// where it waits behind one that did, and where it is made again; else the endpoint's
// place says it.
type Delivery struct {
	EndpointID string
	EventID    string
	Lane       string // deliveries of one lane keep their order: the mandate, mostly
	Seq        int64  // order within the lane
	Status     DeliveryStatus
	Attempts   int
	Next       time.Time // not sent before
	HTTPStatus int       // of the last answer; zero: there was none
	Error      string    // why the last attempt failed
	Answer     string    // the beginning of the last answer that was no success
	TriedAt    time.Time
	CreatedAt  time.Time
}

// DueDelivery is a stored delivery with the event that it sends.
type DueDelivery struct {
	Delivery

	Event Event
}

// LaneKey is a place in a lane.
type LaneKey struct {
	Lane string
	Seq  int64
}

// EndpointNews tells whether there is something new for an endpoint.
type EndpointNews struct {
	WakeSeq int64
	End     int64 // of its merchant's stream
}

// EndpointState is what changes in an endpoint by attempts to reach it.
type EndpointState struct {
	EndpointID   string
	Place        int64
	FailingSince time.Time
	Failures     int
	PausedUntil  time.Time
}

// Webhooks keeps webhook endpoints, how far each has come in its merchant's stream of
// events, and who works on which. Nothing here is money state. Methods that name one row
// return [ErrNotFound] where it does not exist.
type Webhooks interface {
	// Events lists a merchant's events since a time, the end of their stream first, at
	// places below before (zero: from the end on) and above after.
	Events(ctx context.Context, merchantID string, since time.Time, before, after int64, limit int) ([]Event, error)
	Event(ctx context.Context, id string) (Event, error)

	WebhookEndpoints(ctx context.Context, merchantID string) ([]WebhookEndpoint, error)
	WebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error)
	// AddWebhookEndpoint returns [ErrTooManyEndpoints], [ErrEndpointExists], and [ErrConflict] where
	// another one was added at the same time: try again.
	AddWebhookEndpoint(ctx context.Context, e WebhookEndpoint) error
	// RotateWebhookSecret replaces the secret that is sealed as former, which
	// counts until a time. [ErrConflict] where it is another one by now.
	RotateWebhookSecret(ctx context.Context, id string, fresh, former []byte, until time.Time) error
	// DisableWebhookEndpoint tells whether it was enabled before.
	DisableWebhookEndpoint(ctx context.Context, id, reason string) (bool, error)
	// DeleteWebhookEndpoint deletes it with its deliveries.
	DeleteWebhookEndpoint(ctx context.Context, id string) error

	// Redeliver stores deliveries of an event that are to be made again, in a lane of its own, also where an
	// attempt is under way.
	Redeliver(ctx context.Context, eventID string, endpointIDs []string, now time.Time) error

	// DueWebhookEndpoints lists endpoints that nobody works on and that have something
	// to do: those whose time has come, the earliest first, and those of some merchants
	// that are not at the end of their stream, the longest free first.
	DueWebhookEndpoints(ctx context.Context, merchants []string, now time.Time, limit int) ([]string, error)
	// BehindWebhookEndpoints looks at so many endpoints from one on, in the order of
	// their ids, for those that nobody works on and that are not at the end of their
	// stream. last is the one to go on from; empty: there are no more.
	BehindWebhookEndpoints(ctx context.Context, from string, now time.Time, limit int) (behind []string, last string, err error)
	// LeaseWebhookEndpoints gives those of some endpoints that are enabled, and that
	// nobody works on, to owner.
	LeaseWebhookEndpoints(ctx context.Context, owner string, ids []string, now, until time.Time) ([]WebhookEndpoint, error)
	// ExtendWebhookLeases extends those of some endpoints that owner has, and returns
	// their ids. A lease whose answer was lost is not among them, and lapses.
	ExtendWebhookLeases(ctx context.Context, owner string, ids []string, until time.Time) ([]string, error)
	// WebhookNews are those of the endpoints that owner has.
	WebhookNews(ctx context.Context, owner string) (map[string]EndpointNews, error)
	// ReleaseWebhookEndpoint gives an endpoint back, with the time when there is
	// something to do again, but for new events (zero: nothing). It is false, and nothing
	// is done, where something is to be made again since e was read or owner has lost it.
	ReleaseWebhookEndpoint(ctx context.Context, owner string, e WebhookEndpoint, now, wake time.Time) (bool, error)
	// FreeWebhookLeases gives back what owners that are gone had, where the store
	// belongs to one process, which is the caller's.
	FreeWebhookLeases(ctx context.Context) error

	// StreamEvents lists a merchant's events after a place in their stream.
	StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]Event, error)
	// HeldLanes tells of some lanes the sequence of the last stored delivery to an
	// endpoint that is still to be made, if there is one.
	HeldLanes(ctx context.Context, endpointID string, lanes []string) (map[string]int64, error)
	// DueLanes lists lanes after one, in their order, with stored deliveries that may be
	// made at a time: without those whose first one waits for a retry.
	DueLanes(ctx context.Context, endpointID, from string, now time.Time, limit int) ([]string, error)
	// RetryLanes lists those lanes of which the first delivery has failed before, the
	// earliest due first.
	RetryLanes(ctx context.Context, endpointID string, now time.Time, limit int) ([]string, error)
	// LaneDeliveries lists the stored deliveries of a lane that are still to be made,
	// those after a place in it, in their order, whenever they are due.
	LaneDeliveries(ctx context.Context, endpointID string, after LaneKey, limit int) ([]DueDelivery, error)
	// NextRetry is when the first delivery that failed before is due; zero: there is none.
	NextRetry(ctx context.Context, endpointID string) (time.Time, error)
	// SaveDeliveries stores deliveries as they stand after so many attempts, and how
	// far endpoints have come, in one transaction. Dropped is what came of an attempt
	// at a delivery that is made again meanwhile, and so has another lane and sequence,
	// and what knows of no more attempts than the store. An endpoint never goes back.
	SaveDeliveries(ctx context.Context, tried []Delivery, reached []EndpointState) error
	// EventDeliveries lists an event's deliveries to its merchant's endpoints, stored
	// or not, the oldest endpoint first. The event is as it was read.
	EventDeliveries(ctx context.Context, e Event) ([]Delivery, error)
	// Deliveries lists an endpoint's stored deliveries of a status, the latest events first.
	Deliveries(ctx context.Context, endpointID string, status DeliveryStatus, limit int) ([]Delivery, error)
}
