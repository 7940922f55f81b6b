package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// deleteBatch is how many deliveries are deleted in one transaction.
const deleteBatch = 1000

// Events implements [ledger.Reader].
func (s *Store) Events(
	ctx context.Context, merchantID string, since time.Time, before, after int64, limit int,
) ([]ledger.Event, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return many(s, row.Event)(s.readQ.MerchantEvents(ctx, db.MerchantEventsParams{
		MerchantID: merchantID, SinceMs: row.Millis(since), Before: before, After: after, Most: int64(limit),
	}))
}

// Event implements [ledger.Reader].
func (s *Store) Event(ctx context.Context, id string) (ledger.Event, error) {
	return one(s, row.Event)(s.readQ.Event(ctx, id))
}

// WebhookEndpoints implements [store.Webhooks].
func (s *Store) WebhookEndpoints(ctx context.Context, merchantID string) ([]store.WebhookEndpoint, error) {
	return many(s, row.WebhookEndpoint)(s.readQ.WebhookEndpoints(ctx, merchantID))
}

// WebhookEndpoint implements [store.Webhooks].
func (s *Store) WebhookEndpoint(ctx context.Context, id string) (store.WebhookEndpoint, error) {
	return one(s, row.WebhookEndpoint)(s.readQ.WebhookEndpoint(ctx, id))
}

// AddWebhookEndpoint implements [store.Webhooks]. Each endpoint has one of the
// merchant's slots, so that two added at once cannot exceed the number, and the second finds the first.
func (s *Store) AddWebhookEndpoint(ctx context.Context, e store.WebhookEndpoint) error {
	others, err := s.readQ.WebhookEndpoints(ctx, e.MerchantID)
	if err != nil {
		return s.fail("list webhook endpoints", err)
	}
	taken := map[int64]bool{}
	for _, o := range others {
		if taken[o.Slot] = true; o.Url == e.URL {
			return store.ErrEndpointExists
		}
	}
	for slot := range int64(store.MaxWebhookEndpoints) {
		if !taken[slot] {
			return s.fail("add webhook endpoint", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.addEndpoint(ctx, tx, e, slot) }))
		}
	}
	return store.ErrTooManyEndpoints
}

// addEndpoint adds it at the end of its merchant's stream, which gets no longer
// meanwhile: an event is either before it or finds it.
func (s *Store) addEndpoint(ctx context.Context, tx *sql.Tx, e store.WebhookEndpoint, slot int64) (err error) {
	q := s.writeQ.WithTx(tx)
	if e.StartOffset, err = q.TakePlaces(ctx, db.TakePlacesParams{MerchantID: e.MerchantID}); err != nil {
		return err
	}
	return q.InsertWebhookEndpoint(ctx, row.InsertWebhookEndpoint(e, slot))
}

// RotateWebhookSecret implements [store.Webhooks].
func (s *Store) RotateWebhookSecret(ctx context.Context, id string, fresh, previous []byte, until time.Time) error {
	n, err := change(ctx, s, "rotate webhook secret", s.writeQ.RotateWebhookSecret, db.RotateWebhookSecretParams{
		ID: id, Fresh: fresh, Expected: previous, UntilMs: row.Millis(until),
	})
	if err == nil && n == 0 {
		return ledger.ErrConflict
	}
	return err
}

// DisableWebhookEndpoint implements [store.Webhooks].
func (s *Store) DisableWebhookEndpoint(ctx context.Context, id, reason string) (bool, error) {
	p := db.DisableWebhookEndpointParams{ID: id, Disabled: reason}
	n, err := change(ctx, s, "disable webhook endpoint", s.writeQ.DisableWebhookEndpoint, p)
	return n == 1, err
}

// DeleteWebhookEndpoint implements [store.Webhooks]. The deliveries go in
// batches, so that no charge waits for them; what is left where that ends early
// goes when it is old.
func (s *Store) DeleteWebhookEndpoint(ctx context.Context, id string) error {
	n, err := change(ctx, s, "delete webhook endpoint", s.writeQ.DeleteWebhookEndpoint, id)
	if err == nil && n == 0 {
		return ledger.ErrNotFound
	}
	p := db.DeleteDeliveriesParams{EndpointID: id, Most: deleteBatch}
	for n = deleteBatch; n == deleteBatch && err == nil; {
		n, err = change(ctx, s, "delete deliveries", s.writeQ.DeleteDeliveries, p)
	}
	return err
}

// DueWebhookEndpoints implements [store.Webhooks].
func (s *Store) DueWebhookEndpoints(ctx context.Context, merchants []string, now time.Time, limit int) ([]string, error) {
	due, err := s.readQ.DueEndpoints(ctx, db.DueEndpointsParams{NowMs: row.Millis(now), Most: int64(limit)})
	if err != nil || len(merchants) == 0 {
		return due, s.fail("look for webhook work", err)
	}
	text, err := encoded(single(merchants))
	if err != nil {
		return nil, err
	}
	behind, err := rows(ctx, lister{s}, func(r *sql.Rows, id *string) error { return r.Scan(id) },
		endpointsBehind, text, row.Millis(now), limit)
	return append(due, behind...), s.fail("look for webhook work", err)
}

// BehindWebhookEndpoints implements [store.Webhooks].
func (s *Store) BehindWebhookEndpoints(ctx context.Context, now time.Time, limit int) ([]string, error) {
	behind, err := s.readQ.BehindEndpoints(ctx, db.BehindEndpointsParams{NowMs: row.Millis(now), Most: int64(limit)})
	return behind, s.fail("look for webhook work", err)
}

// LeaseWebhookEndpoints implements [store.Webhooks].
func (s *Store) LeaseWebhookEndpoints(ctx context.Context, owner string, ids []string, now, until time.Time) (leased []store.WebhookEndpoint, err error) {
	text, err := encoded(single(ids))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	taken, err := s.changed(ctx, "lease webhook endpoints", leaseEndpoints, text, owner, row.Millis(until), row.Millis(now))
	for _, id := range taken {
		e, err := s.WebhookEndpoint(ctx, id)
		if errors.Is(err, ledger.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return leased, err // what is left lapses
		}
		leased = append(leased, e)
	}
	return leased, err
}

// ExtendWebhookLeases implements [store.Webhooks].
func (s *Store) ExtendWebhookLeases(ctx context.Context, owner string, ids []string, until time.Time) ([]string, error) {
	text, err := encoded(single(ids))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return s.changed(ctx, "extend webhook leases", extendLeases, text, owner, row.Millis(until))
}

// WebhookNews implements [store.Webhooks].
func (s *Store) WebhookNews(ctx context.Context, owner string) (map[string]store.EndpointNews, error) {
	all, err := s.readQ.WebhookNews(ctx, owner)
	news := make(map[string]store.EndpointNews, len(all))
	for _, r := range all {
		news[r.ID] = store.EndpointNews{Version: r.WakeSeq, StreamEnd: r.Place}
	}
	return news, s.fail("read news of webhook endpoints", err)
}

// ReleaseWebhookEndpoint implements [store.Webhooks].
func (s *Store) ReleaseWebhookEndpoint(ctx context.Context, owner string, e store.WebhookEndpoint, now, wake time.Time) error {
	return put(ctx, s, "release webhook endpoint", s.writeQ.ReleaseWebhookEndpoint, db.ReleaseWebhookEndpointParams{
		ID: e.ID, Owner: owner, WakeSeq: e.Version, NowMs: row.Millis(now), WakeMs: row.Millis(wake),
	})
}

// FreeWebhookLeases implements [store.Webhooks].
func (s *Store) FreeWebhookLeases(ctx context.Context, now, latest time.Time) error {
	if !s.engine.OneProcess {
		return nil
	}
	return s.fail("free webhook leases", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		if err := q.BoundRetries(ctx, db.BoundRetriesParams{NowMs: row.Millis(now), LatestMs: row.Millis(latest)}); err != nil {
			return err
		}
		return q.FreeWebhookLeases(ctx, row.Millis(now))
	}))
}

// DueLanes implements [store.Webhooks].
func (s *Store) DueLanes(ctx context.Context, endpointID, from string, now time.Time, limit int) ([]string, error) {
	lanes, err := s.readQ.DueLanes(ctx, db.DueLanesParams{EndpointID: endpointID, FromLane: from, NowMs: row.Millis(now), Most: int64(limit)})
	return lanes, s.fail("list due lanes", err)
}

// RetryLanes implements [store.Webhooks].
func (s *Store) RetryLanes(ctx context.Context, endpointID string, now time.Time, limit int) ([]string, error) {
	lanes, err := s.readQ.RetryLanes(ctx, db.RetryLanesParams{EndpointID: endpointID, NowMs: row.Millis(now), Most: int64(limit)})
	return lanes, s.fail("list lanes to be tried again", err)
}

// LaneDeliveries implements [store.Webhooks].
func (s *Store) LaneDeliveries(ctx context.Context, endpointID, lane string, limit int) ([]store.DueDelivery, error) {
	list, err := many(s, row.DueDelivery)(s.readQ.LaneDeliveries(ctx, db.LaneDeliveriesParams{EndpointID: endpointID, Lane: lane, Most: int64(limit)}))
	for i := range list {
		list[i].EndpointID = endpointID
	}
	return list, err
}

// NextRetry implements [store.Webhooks].
func (s *Store) NextRetry(ctx context.Context, endpointID string) (time.Time, error) {
	ms, err := s.readQ.NextRetry(ctx, endpointID)
	return row.At(ms), s.fail("read next retry", err)
}

// StreamEvents implements [ledger.Reader].
func (s *Store) StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error) {
	return many(s, row.StreamEvent(merchantID))(s.readQ.StreamEvents(ctx, db.StreamEventsParams{
		MerchantID: merchantID, After: after, Most: int64(limit),
	}))
}

// HeldLanes implements [store.Webhooks].
func (s *Store) HeldLanes(ctx context.Context, endpointID string, lanes []string) ([]string, error) {
	text, err := encoded(single(lanes))
	if err != nil || len(lanes) == 0 {
		return nil, err
	}
	held, err := rows(ctx, lister{s}, func(r *sql.Rows, lane *string) error { return r.Scan(lane) }, heldLanes, text, endpointID)
	return held, s.fail("read lanes that are held back", err)
}

// EventDeliveries implements [store.Webhooks]. It reads the endpoints first: if one's
// offset passes the event meanwhile, its delivery is stored by then, if it needs to be.
func (s *Store) EventDeliveries(ctx context.Context, e ledger.Event) ([]store.Delivery, error) {
	endpoints, err := s.WebhookEndpoints(ctx, e.MerchantID)
	if err != nil {
		return nil, err
	}
	stored, err := many(s, row.Delivery)(s.readQ.EventDeliveries(ctx, db.EventDeliveriesParams{EventID: e.ID, MerchantID: e.MerchantID}))
	if err != nil {
		return nil, err
	}
	var list []store.Delivery
	for _, w := range endpoints {
		i := slices.IndexFunc(stored, func(d store.Delivery) bool { return d.EndpointID == w.ID })
		if i >= 0 {
			list = append(list, stored[i])
		} else if d, ok := w.InferredDelivery(e); ok {
			list = append(list, d)
		}
	}
	return list, nil
}

// Deliveries implements [store.Webhooks].
func (s *Store) Deliveries(ctx context.Context, endpointID string, status store.DeliveryStatus, limit int) ([]store.Delivery, error) {
	return many(s, row.Delivery)(s.readQ.Deliveries(ctx, db.DeliveriesParams{
		EndpointID: endpointID, Status: string(status), Most: int64(limit),
	}))
}

// change is put for a statement that answers.
func change[P, R any](ctx context.Context, s *Store, doing string, exec func(context.Context, P) (R, error), p P) (answer R, err error) {
	err = put(ctx, s, doing, func(ctx context.Context, p P) error {
		answer, err = exec(ctx, p)
		return err
	}, p)
	return answer, err
}

// encoded is the JSON that a statement for many rows takes, an array of arrays.
func encoded(rows [][]any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(rows); err != nil {
		return "", fmt.Errorf("encode rows: %w", err)
	}
	return b.String(), nil
}
