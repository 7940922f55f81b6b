package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Statements for many rows at once take them as one JSON array of arrays. They
// are the same on both engines but for the function that unfolds it; sqlc knows
// neither form.
const (
	endpointsBehind = `SELECT w.id FROM webhook_endpoints w JOIN webhook_streams s ON s.merchant_id = w.merchant_id
WHERE w.merchant_id IN (SELECT value ->> 0 FROM json_each($1)) AND w.place < s.place AND w.disabled = '' AND (w.lease_owner = '' OR w.lease_ms <= $2) AND w.pause_ms <= $2
ORDER BY CASE WHEN w.lease_ms > $2 THEN 0 ELSE w.lease_ms END LIMIT CAST($3 AS BIGINT)`

	heldLanes = `SELECT DISTINCT lane FROM webhook_deliveries
WHERE endpoint_id = $2 AND status = 'pending' AND lane IN (SELECT value ->> 0 FROM json_each($1))`

	// Statements that change several endpoints lock them in the order of their ids,
	// where the database locks rows, so that no two wait for each other.
	// One that is leased is due when the lease has lapsed.
	wakeEndpoints = `UPDATE webhook_endpoints SET wake_seq = wake_seq + 1, wake_ms = CASE WHEN lease_owner <> '' AND lease_ms > $2 THEN lease_ms ELSE $2 END
WHERE id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)`

	leaseEndpoints = `UPDATE webhook_endpoints SET lease_owner = $2, lease_ms = $3, wake_ms = $3
WHERE disabled = '' AND (lease_owner = '' OR lease_ms <= $4) AND id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)
RETURNING id`

	extendLeases = `UPDATE webhook_endpoints SET lease_ms = $3, wake_ms = $3
WHERE lease_owner = $2 AND id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)
RETURNING id`

	// heldEndpoints are those of the endpoints that an owner has on lease. They stay so until
	// the transaction ends.
	heldEndpoints = `SELECT w.id FROM webhook_endpoints w
WHERE w.lease_owner = $2 AND w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */`

	// An outcome is of the delivery in its place, and of a later attempt than what is
	// known; else it is dropped.
	saveDeliveries = `INSERT INTO webhook_deliveries
    (endpoint_id, event_id, lane, seq, status, attempts, next_ms, http_status, error, answer, tried_ms, created_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), value ->> 4, CAST(value ->> 5 AS BIGINT),
    CAST(value ->> 6 AS BIGINT), CAST(value ->> 7 AS BIGINT), value ->> 8, value ->> 9, CAST(value ->> 10 AS BIGINT),
    CAST(value ->> 11 AS BIGINT)
FROM json_each($1) WHERE true
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
WHERE webhook_endpoints.id = r.id AND webhook_endpoints.lease_owner = $2 /* all locked */`

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
	return statement
}

// execer is a connection, a transaction or a pool.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// bulk runs a statement for many rows.
func (s *Store) bulk(ctx context.Context, on execer, statement string, rows [][]any, args ...any) error {
	if len(rows) == 0 {
		return nil
	}
	text, err := encoded(rows)
	if err == nil {
		_, err = on.ExecContext(ctx, s.unfold(statement), append([]any{text}, args...)...)
	}
	return err
}

// Redeliver implements [store.Webhooks].
func (s *Store) Redeliver(ctx context.Context, eventID string, endpointIDs []string, now time.Time) error {
	again := make([][]any, len(endpointIDs))
	for i, id := range endpointIDs {
		again[i] = []any{id, eventID, row.Millis(now)}
	}
	return s.fail("redeliver event", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.bulk(ctx, tx, redeliver, again); err != nil {
			return err
		}
		return s.bulk(ctx, tx, wakeEndpoints, single(endpointIDs), row.Millis(now))
	}))
}

// SaveDeliveries implements [store.Webhooks]. If a statement is no round trip, each row
// has its own: taking rows out of JSON costs more than the rest. After a power cut some
// deliveries are sent again, as after a crash before they were saved.
func (s *Store) SaveDeliveries(ctx context.Context, owner string, all []store.Delivery) error {
	if s.writer != nil {
		return s.fail("save deliveries", s.lazily(ctx, func(ctx context.Context) error { return saveEach(ctx, s.writeQ, owner, all) }))
	}
	values := make([][]any, len(all))
	var endpoints []string
	for i, d := range all {
		endpoints = append(endpoints, d.EndpointID)
		values[i] = []any{
			d.EndpointID, d.EventID, d.Lane, d.Seq, string(d.Status), d.Attempts, row.Millis(d.Next), d.HTTPStatus, d.Error, d.Answer,
			row.Millis(d.TriedAt), row.Millis(d.CreatedAt),
		}
	}
	slices.Sort(endpoints)
	endpoints = slices.Compact(endpoints)
	return s.fail("save deliveries", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		text, err := encoded(single(endpoints))
		if err != nil {
			return err
		}
		held, err := rows(ctx, tx, func(r *sql.Rows, id *string) error { return r.Scan(id) }, s.unfold(heldEndpoints), text, owner)
		if err == nil && len(held) < len(endpoints) {
			err = store.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		return s.bulk(ctx, tx, saveDeliveries, values)
	}))
}

// saveEach runs a statement for each row that SQLite need not be able to take back
// alone: else it copies every page that it changes.
func saveEach(ctx context.Context, q *db.Queries, owner string, all []store.Delivery) error {
	held := map[string]bool{}
	for _, d := range all {
		if !held[d.EndpointID] {
			found, err := q.HoldsWebhookEndpoint(ctx, db.HoldsWebhookEndpointParams{ID: d.EndpointID, LeaseOwner: owner})
			if err == nil && !found {
				err = store.ErrLeaseLost
			}
			if err != nil {
				return err
			}
			held[d.EndpointID] = true
		}
		if err := q.SaveDelivery(ctx, row.SaveDelivery(d)); err != nil {
			return err
		}
	}
	return nil
}

// SaveEndpoints implements [store.Webhooks], as SaveDeliveries does.
func (s *Store) SaveEndpoints(ctx context.Context, owner string, states []store.EndpointState) error {
	if s.writer != nil {
		return s.fail("save webhook endpoints", s.lazily(ctx, func(ctx context.Context) error {
			return insert(ctx, states, func(e store.EndpointState) db.SaveEndpointParams { return row.SaveEndpoint(owner, e) }, s.writeQ.SaveEndpoint)()
		}))
	}
	values := make([][]any, len(states))
	for i, e := range states {
		values[i] = []any{e.EndpointID, e.Offset, row.Millis(e.FailingSince), e.Failures, row.Millis(e.PausedUntil)}
	}
	return s.fail("save webhook endpoints", s.bulk(ctx, s.writes(), saveEndpoints, values, owner))
}

// changed runs a statement that returns the rows it has changed.
func (s *Store) changed(ctx context.Context, doing, statement string, args ...any) ([]string, error) {
	return change(ctx, s, doing, func(ctx context.Context, args []any) ([]string, error) {
		return rows(ctx, s.writes(), func(r *sql.Rows, id *string) error { return r.Scan(id) }, s.unfold(statement), args...)
	}, args)
}

// lister runs bulk statements that read, prepared ones if there are.
type lister struct{ *Store }

// QueryContext is like that of a pool.
func (l lister) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if prepared := l.lists[statement]; prepared != nil {
		return prepared.QueryContext(ctx, args...)
	}
	return l.read.QueryContext(ctx, l.unfold(statement), args...)
}

// querier is a connection, or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// pool is one that has transactions.
type pool interface {
	querier
	execer
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

// rows runs a statement that answers with rows.
func rows[R any](
	ctx context.Context, on querier, scan func(*sql.Rows, *R) error, statement string, args ...any,
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

// writes is what statements that write run on.
func (s *Store) writes() pool {
	if s.writer != nil {
		return s.writer
	}
	return s.write
}

// inTx runs a transaction. On the one connection that writes, a caller who goes away
// does not end it: it would be rolled back while that connection writes for others.
func (s *Store) inTx(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	giveBack, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	ctx = s.toTheEnd(ctx)
	tx, err := s.writes().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(ctx, tx); err != nil {
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
