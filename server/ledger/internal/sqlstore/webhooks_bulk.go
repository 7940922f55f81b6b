package sqlstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/internal/row"
	"github.com/paywarrant/paywarrant/server/ledger/internal/sqlstore/db"
)

// Statements for many rows at once take them as one JSON array of arrays. They
// are the same on both engines but for the function that unfolds it; sqlc knows
// neither form.
const (
	outbox = `SELECT id, mandate_id, seq, merchant_id, type, created_ms FROM events
WHERE relayed = 0 AND mandate_id >= $1 AND (mandate_id > $1 OR seq > $2)
ORDER BY mandate_id, seq LIMIT CAST($3 AS BIGINT) /* locked */`

	// takePlaces counts the events of each merchant, and so takes their places.
	takePlaces = `INSERT INTO webhook_streams (merchant_id, place)
SELECT value ->> 0, CAST(value ->> 1 AS BIGINT) FROM json_each($1) WHERE true
ON CONFLICT (merchant_id) DO UPDATE SET place = webhook_streams.place + excluded.place
RETURNING merchant_id, place`

	placeEvents = `UPDATE events SET relayed = 1, place = r.place
FROM (SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS place FROM json_each($1)) AS r
WHERE events.id = r.id`

	// Statements that change several endpoints lock them in the order of their ids,
	// where the database locks rows, so that no two wait for each other.
	// One that is leased is due when the lease has lapsed.
	wakeEndpoints = `UPDATE webhook_endpoints SET wake_seq = wake_seq + 1, wake_ms = CASE WHEN lease_ms > $2 THEN lease_ms ELSE $2 END
WHERE id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)`

	leaseEndpoints = `UPDATE webhook_endpoints SET lease_owner = $1, lease_ms = $2, wake_ms = $2
WHERE disabled = '' AND lease_ms <= $3 AND id IN (
    SELECT l.id FROM webhook_endpoints l
    WHERE l.id IN (
        SELECT w.id FROM webhook_endpoints w
        WHERE w.disabled = '' AND w.wake_ms > 0 AND w.wake_ms <= $3 AND w.lease_ms <= $3 AND w.pause_ms <= $3
        ORDER BY w.wake_ms LIMIT CAST($4 AS BIGINT)
    )
    ORDER BY l.id /* locked */
)
RETURNING id`

	extendLeases = `UPDATE webhook_endpoints SET lease_ms = $3, wake_ms = $3
WHERE lease_owner = $2 AND id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)
RETURNING id`

	endpointsOf = `SELECT id, merchant_id, types FROM webhook_endpoints
WHERE disabled = '' AND merchant_id IN (SELECT value ->> 0 FROM json_each($1))`

	// An outcome is of the delivery in its place, and of a later attempt than what is
	// known; else it is dropped.
	saveDeliveries = `INSERT INTO webhook_deliveries
    (endpoint_id, event_id, lane, seq, status, attempts, next_ms, http_status, error, answer, tried_ms, created_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), value ->> 4, CAST(value ->> 5 AS BIGINT),
    CAST(value ->> 6 AS BIGINT), CAST(value ->> 7 AS BIGINT), value ->> 8, value ->> 9, CAST(value ->> 10 AS BIGINT),
    CAST(value ->> 11 AS BIGINT)
FROM json_each($1) WHERE EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = value ->> 0)
ON CONFLICT (endpoint_id, event_id) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
    next_ms = excluded.next_ms, http_status = excluded.http_status, error = excluded.error, answer = excluded.answer,
    tried_ms = excluded.tried_ms
WHERE webhook_deliveries.lane = excluded.lane AND webhook_deliveries.seq = excluded.seq
    AND webhook_deliveries.attempts < excluded.attempts`

	saveEndpoints = `UPDATE webhook_endpoints SET failing_ms = r.failing_ms, failures = r.failures, pause_ms = r.pause_ms,
    place = CASE WHEN r.place > webhook_endpoints.place THEN r.place ELSE webhook_endpoints.place END
FROM (
    SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS place, CAST(value ->> 2 AS BIGINT) AS failing_ms,
        CAST(value ->> 3 AS BIGINT) AS failures, CAST(value ->> 4 AS BIGINT) AS pause_ms
    FROM json_each($1)
) AS r
WHERE webhook_endpoints.id = r.id /* all locked */`

	// redeliver puts a delivery into a lane of its own, so that it holds back nothing.
	// It takes another place, so that an attempt that is under way says nothing about
	// this one.
	redeliver = `INSERT INTO webhook_deliveries
    (endpoint_id, event_id, lane, seq, status, attempts, next_ms, http_status, error, answer, tried_ms, created_ms)
SELECT value ->> 0, value ->> 1, value ->> 1, 0, 'pending', 0, 0, 0, '', '', 0, CAST(value ->> 2 AS BIGINT)
FROM json_each($1) WHERE true
ON CONFLICT (endpoint_id, event_id) DO UPDATE SET lane = excluded.lane, seq = webhook_deliveries.seq + 1, status = 'pending',
    attempts = 0, next_ms = 0, http_status = 0, error = '', answer = '', tried_ms = 0, created_ms = excluded.created_ms`
)

var forPostgres = strings.NewReplacer("json_each($1)", "json_array_elements(CAST($1 AS json))", "/* locked */", "FOR UPDATE",
	"/* all locked */", `AND webhook_endpoints.id IN (
    SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_array_elements(CAST($1 AS json))) ORDER BY w.id FOR UPDATE
)`)

// unfold puts a statement into the engine's own words.
func (s *Store) unfold(statement string) string {
	if s.engine.Dialect == goose.DialectPostgres {
		return forPostgres.Replace(statement)
	}
	// The transaction is rolled back anyhow where a row is refused; said like this,
	// SQLite need not copy every page that it changes for the statement alone.
	return strings.Replace(statement, "UPDATE events", "UPDATE OR ROLLBACK events", 1)
}

// bulk runs a statement for many rows.
func (s *Store) bulk(ctx context.Context, tx *sql.Tx, statement string, rows [][]any, args ...any) error {
	if len(rows) == 0 {
		return nil
	}
	text, err := encoded(rows)
	if err == nil {
		_, err = tx.ExecContext(ctx, s.unfold(statement), append([]any{text}, args...)...)
	}
	return err
}

// RelayEvents implements [ledger.Webhooks]. Where two instances relay at once, one
// waits for the other and then finds less. Who has taken places of a merchant keeps
// the others from taking later ones until they are committed, so that no reader of
// the stream comes past an event that is still to appear.
func (s *Store) RelayEvents(ctx context.Context, from ledger.LaneKey, limit int, now time.Time) (ledger.Relayed, error) {
	if found, err := s.readQ.AnyOutbox(ctx); err != nil || !found {
		return ledger.Relayed{}, s.fail("look into the outbox", err)
	}
	var done ledger.Relayed
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		events, err := rows(ctx, tx, func(r *sql.Rows, e *ledger.Event) error {
			var ms int64
			err := r.Scan(&e.ID, &e.MandateID, &e.Seq, &e.MerchantID, &e.Type, &ms)
			e.CreatedAt = row.At(ms)
			return err
		}, s.unfold(outbox), from.Lane, from.Seq, limit)
		if err != nil || len(events) == 0 {
			return err
		}
		byTime(events)
		if err := s.place(ctx, tx, events); err != nil {
			return err
		}
		endpoints, err := s.endpointsOf(ctx, tx, events)
		if err != nil {
			return err
		}
		done = fanOut(events, endpoints)
		return s.bulk(ctx, tx, wakeEndpoints, single(done.Endpoints), row.Millis(now))
	})
	return done, s.fail("relay events", err)
}

// byTime sorts events by time, but for those of a mandate, which keep their order
// whatever the clocks said.
func byTime(events []ledger.Event) {
	latest, at := map[string]time.Time{}, map[string]time.Time{} // of mandates, and of events
	for _, e := range events {
		if e.CreatedAt.After(latest[e.MandateID]) {
			latest[e.MandateID] = e.CreatedAt
		}
		at[e.ID] = latest[e.MandateID]
	}
	slices.SortStableFunc(events, func(a, b ledger.Event) int { return at[a.ID].Compare(at[b.ID]) })
}

// place gives events their places in their merchants' streams.
func (s *Store) place(ctx context.Context, tx *sql.Tx, events []ledger.Event) error {
	count := map[string]int64{}
	for _, e := range events {
		count[e.MerchantID]++
	}
	var counts [][]any
	for _, id := range slices.Sorted(maps.Keys(count)) { // everybody takes them in this order
		counts = append(counts, []any{id, count[id]})
	}
	next, err := s.lastPlaces(ctx, tx, counts)
	if err != nil {
		return err
	}
	for id, n := range count {
		next[id] -= n
	}
	placed := make([][]any, len(events))
	for i, e := range events {
		next[e.MerchantID]++
		placed[i] = []any{e.ID, next[e.MerchantID]}
	}
	return s.bulk(ctx, tx, placeEvents, placed)
}

// lastPlaces takes as many places of merchants as are given, and returns the last of each.
func (s *Store) lastPlaces(ctx context.Context, tx *sql.Tx, counts [][]any) (map[string]int64, error) {
	text, err := encoded(counts)
	if err != nil {
		return nil, err
	}
	all, err := rows(ctx, tx, func(r *sql.Rows, at *db.WebhookStream) error {
		return r.Scan(&at.MerchantID, &at.Place)
	}, s.unfold(takePlaces), text)
	last := map[string]int64{}
	for _, at := range all {
		last[at.MerchantID] = at.Place
	}
	return last, err
}

// endpointsOf finds who is told of events, by merchant.
func (s *Store) endpointsOf(ctx context.Context, tx *sql.Tx, events []ledger.Event) (map[string][]ledger.WebhookEndpoint, error) {
	var merchants []string
	for _, e := range events {
		merchants = append(merchants, e.MerchantID)
	}
	slices.Sort(merchants)
	text, err := encoded(single(slices.Compact(merchants)))
	if err != nil {
		return nil, err
	}
	all, err := rows(ctx, tx, func(r *sql.Rows, e *db.WebhookEndpoint) error {
		return r.Scan(&e.ID, &e.MerchantID, &e.Types)
	}, s.unfold(endpointsOf), text)
	found := map[string][]ledger.WebhookEndpoint{}
	for _, stored := range all {
		e, err := row.WebhookEndpoint(stored)
		if err != nil {
			return nil, err
		}
		found[e.MerchantID] = append(found[e.MerchantID], e)
	}
	return found, err
}

// fanOut tells what relaying the events comes to.
func fanOut(events []ledger.Event, endpoints map[string][]ledger.WebhookEndpoint) ledger.Relayed {
	done := ledger.Relayed{Events: len(events)}
	for _, e := range events {
		if at := (ledger.LaneKey{Lane: e.MandateID, Seq: e.Seq}); at.After(done.Last) {
			done.Last = at
		}
		for _, to := range endpoints[e.MerchantID] {
			if to.Wants(e.Type) && !slices.Contains(done.Endpoints, to.ID) {
				done.Endpoints = append(done.Endpoints, to.ID)
			}
		}
	}
	slices.Sort(done.Endpoints)
	return done
}

// Redeliver implements [ledger.Webhooks].
func (s *Store) Redeliver(ctx context.Context, eventID string, endpointIDs []string, now time.Time) error {
	again := make([][]any, len(endpointIDs))
	for i, id := range endpointIDs {
		again[i] = []any{id, eventID, row.Millis(now)}
	}
	return s.fail("redeliver event", s.inTx(ctx, func(tx *sql.Tx) error {
		if err := s.bulk(ctx, tx, redeliver, again); err != nil {
			return err
		}
		return s.bulk(ctx, tx, wakeEndpoints, single(endpointIDs), row.Millis(now))
	}))
}

// SaveDeliveries implements [ledger.Webhooks].
func (s *Store) SaveDeliveries(ctx context.Context, tried []ledger.Delivery, reached []ledger.EndpointState) error {
	states := make([][]any, len(reached))
	for i, e := range reached {
		states[i] = []any{e.EndpointID, e.Place, row.Millis(e.FailingSince), e.Failures, row.Millis(e.PausedUntil)}
	}
	return s.fail("save deliveries", s.inTx(ctx, func(tx *sql.Tx) error {
		for len(tried) > 0 {
			var distinct [][]any
			distinct, tried = split(tried)
			if err := s.bulk(ctx, tx, saveDeliveries, distinct); err != nil {
				return err
			}
		}
		return s.bulk(ctx, tx, saveEndpoints, states)
	}))
}

// split takes the first outcome of each delivery, since a statement can change a
// row only once, and leaves the later ones in their order.
func split(tried []ledger.Delivery) (distinct [][]any, later []ledger.Delivery) {
	seen := map[[2]string]bool{}
	for _, d := range tried {
		key := [2]string{d.EndpointID, d.EventID}
		if seen[key] {
			later = append(later, d)
			continue
		}
		seen[key] = true
		distinct = append(distinct, []any{
			d.EndpointID, d.EventID, d.Lane, d.Seq, string(d.Status), d.Attempts, row.Millis(d.Next), d.HTTPStatus, d.Error, d.Answer,
			row.Millis(d.TriedAt), row.Millis(d.CreatedAt),
		})
	}
	return distinct, later
}

// changed runs a statement that tells which rows it has changed.
func (s *Store) changed(ctx context.Context, doing, statement string, args ...any) ([]string, error) {
	return change(ctx, s, doing, func(ctx context.Context, args []any) ([]string, error) {
		return rows(ctx, s.write, func(r *sql.Rows, id *string) error { return r.Scan(id) }, s.unfold(statement), args...)
	}, args)
}

// rows runs a statement that answers with rows.
func rows[R any](
	ctx context.Context, on interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}, scan func(*sql.Rows, *R) error, statement string, args ...any,
) (all []R, err error) {
	found, err := on.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var r R
		if err := scan(found, &r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, found.Err()
}

func (s *Store) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	giveBack, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// single makes a row of each value.
func single(values []string) [][]any {
	rows := make([][]any, len(values))
	for i, v := range values {
		rows[i] = []any{v}
	}
	return rows
}
