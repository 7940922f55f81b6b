package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/internal/row"
	"github.com/paywarrant/paywarrant/server/ledger/internal/sqlstore/db"
	"github.com/paywarrant/paywarrant/webhook"
)

// Statements for many rows at once take them as one JSON array of arrays. They
// are the same on both engines but for the function that unfolds it; sqlc knows
// neither form.
const (
	insertDeliveries = `INSERT INTO webhook_deliveries
    (endpoint_id, event_id, lane, seq, status, attempts, next_ms, http_status, error, answer, tried_ms, created_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), 'pending', 0, CAST(value ->> 4 AS BIGINT),
    0, '', '', 0, CAST(value ->> 4 AS BIGINT)
FROM json_each($1) WHERE true
ON CONFLICT (endpoint_id, event_id) DO `

	// Statements that change several endpoints lock them in the order of their ids,
	// where the database locks rows, so that no two wait for each other.
	wakeEndpoints = `UPDATE webhook_endpoints SET wake_ms = $2, wake_seq = wake_seq + 1
WHERE id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)`

	leaseEndpoints = `UPDATE webhook_endpoints SET lease_owner = $1, lease_ms = $2
WHERE disabled = '' AND lease_ms <= $3 AND id IN (
    SELECT l.id FROM webhook_endpoints l
    WHERE l.id IN (
        SELECT w.id FROM webhook_endpoints w
        WHERE w.disabled = '' AND w.wake_ms > 0 AND w.wake_ms <= $3 AND w.lease_ms <= $3 AND w.pause_ms <= $3
        ORDER BY w.wake_ms LIMIT $4
    )
    ORDER BY l.id /* locked */
)
RETURNING id`

	extendLeases = `UPDATE webhook_endpoints SET lease_ms = $3
WHERE lease_owner = $2 AND id IN (SELECT w.id FROM webhook_endpoints w WHERE w.id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY w.id /* locked */)
RETURNING id`

	endpointsOf = `SELECT id, merchant_id, types FROM webhook_endpoints
WHERE disabled = '' AND merchant_id IN (SELECT value ->> 0 FROM json_each($1))`

	saveDeliveries = `UPDATE webhook_deliveries SET status = r.status, attempts = r.attempts, next_ms = r.next_ms,
    http_status = r.http_status, error = r.error, answer = r.answer, tried_ms = r.tried_ms
FROM (
    SELECT value ->> 0 AS endpoint_id, value ->> 1 AS event_id, value ->> 2 AS status, CAST(value ->> 3 AS BIGINT) AS attempts,
        CAST(value ->> 4 AS BIGINT) AS next_ms, CAST(value ->> 5 AS BIGINT) AS http_status, value ->> 6 AS error,
        value ->> 7 AS answer, CAST(value ->> 8 AS BIGINT) AS tried_ms, value ->> 9 AS lane, CAST(value ->> 10 AS BIGINT) AS seq
    FROM json_each($1)
) AS r
WHERE webhook_deliveries.endpoint_id = r.endpoint_id AND webhook_deliveries.event_id = r.event_id
    AND webhook_deliveries.lane = r.lane AND webhook_deliveries.seq = r.seq`

	ignoreSent = `NOTHING`
	// sendAgain starts a delivery anew, in a lane of its own, so that it holds back
	// nothing. It takes another place, so that an attempt that is under way says
	// nothing about this one.
	sendAgain = `UPDATE SET lane = excluded.lane, seq = webhook_deliveries.seq + 1, status = 'pending', attempts = 0,
    next_ms = excluded.next_ms, http_status = 0, error = '', answer = '', tried_ms = 0, created_ms = excluded.created_ms`
)

var forPostgres = strings.NewReplacer("json_each($1)", "json_array_elements(CAST($1 AS json))", "/* locked */", "FOR UPDATE")

// unfold puts a statement into the engine's own words.
func (s *Store) unfold(statement string) string {
	if s.engine.Dialect == goose.DialectPostgres {
		return forPostgres.Replace(statement)
	}
	// The transaction is rolled back anyhow where a row is refused; said like this,
	// SQLite need not copy every page that it changes for the statement alone.
	return strings.Replace(statement, "UPDATE webhook_deliveries", "UPDATE OR ROLLBACK webhook_deliveries", 1)
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

// RelayEvents implements [ledger.Webhooks]. An event is marked first: one that is
// committed meanwhile is not in the set, and stays for the next step. Where two
// instances relay at once, one waits for the other and then finds less.
func (s *Store) RelayEvents(ctx context.Context, from ledger.LaneKey, limit int, now time.Time) (ledger.Relayed, error) {
	if found, err := s.readQ.AnyOutbox(ctx); err != nil || !found {
		return ledger.Relayed{}, s.fail("look into the outbox", err)
	}
	var done ledger.Relayed
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		events, err := s.writeQ.WithTx(tx).RelayEvents(ctx, db.RelayEventsParams{FromLane: from.Lane, FromSeq: from.Seq, Most: int32(limit)})
		if err != nil {
			return err
		}
		endpoints, err := s.endpointsOf(ctx, tx, events)
		if err != nil {
			return err
		}
		done = fanOut(events, endpoints)
		if err := s.bulk(ctx, tx, insertDeliveries+ignoreSent, queued(events, endpoints, row.Millis(now))); err != nil {
			return err
		}
		return s.bulk(ctx, tx, wakeEndpoints, single(done.Endpoints), row.Millis(now))
	})
	return done, s.fail("relay events", err)
}

// endpointsOf finds who wants to be told of events, by merchant.
func (s *Store) endpointsOf(ctx context.Context, tx *sql.Tx, events []db.RelayEventsRow) (map[string][]ledger.WebhookEndpoint, error) {
	var merchants []string
	for _, e := range events {
		merchants = append(merchants, e.MerchantID)
	}
	slices.Sort(merchants)
	text, err := encoded(single(slices.Compact(merchants)))
	if err != nil || len(events) == 0 {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, s.unfold(endpointsOf), text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string][]ledger.WebhookEndpoint{}
	for rows.Next() {
		var stored db.WebhookEndpoint
		if err := rows.Scan(&stored.ID, &stored.MerchantID, &stored.Types); err != nil {
			return nil, err
		}
		e, err := row.WebhookEndpoint(stored)
		if err != nil {
			return nil, err
		}
		found[e.MerchantID] = append(found[e.MerchantID], e)
	}
	return found, rows.Err()
}

// fanOut tells what relaying the events comes to.
func fanOut(events []db.RelayEventsRow, endpoints map[string][]ledger.WebhookEndpoint) ledger.Relayed {
	done := ledger.Relayed{Events: len(events)}
	for _, e := range events {
		if at := (ledger.LaneKey{Lane: e.MandateID, Seq: e.Seq}); at.After(done.Last) {
			done.Last = at
		}
		for _, to := range endpoints[e.MerchantID] {
			if to.Wants(webhook.Type(e.Type)) && !slices.Contains(done.Endpoints, to.ID) {
				done.Endpoints = append(done.Endpoints, to.ID)
			}
		}
	}
	slices.Sort(done.Endpoints)
	return done
}

// queued are the deliveries of events to who wants them.
func queued(events []db.RelayEventsRow, endpoints map[string][]ledger.WebhookEndpoint, now int64) [][]any {
	var rows [][]any
	for _, e := range events {
		for _, to := range endpoints[e.MerchantID] {
			if to.Wants(webhook.Type(e.Type)) {
				rows = append(rows, []any{to.ID, e.ID, e.MandateID, e.Seq, now})
			}
		}
	}
	return rows
}

// Redeliver implements [ledger.Webhooks].
func (s *Store) Redeliver(ctx context.Context, eventID string, endpointIDs []string, now time.Time) error {
	rows := make([][]any, len(endpointIDs))
	for i, id := range endpointIDs {
		rows[i] = []any{id, eventID, eventID, 0, row.Millis(now)}
	}
	return s.fail("redeliver event", s.inTx(ctx, func(tx *sql.Tx) error {
		if err := s.bulk(ctx, tx, insertDeliveries+sendAgain, rows); err != nil {
			return err
		}
		return s.bulk(ctx, tx, wakeEndpoints, single(endpointIDs), row.Millis(now))
	}))
}

// SaveDeliveries implements [ledger.Webhooks].
func (s *Store) SaveDeliveries(ctx context.Context, tried []ledger.Delivery, health []ledger.EndpointHealth) error {
	rows := make([][]any, len(tried))
	for i, d := range tried {
		rows[i] = []any{
			d.EndpointID, d.EventID, string(d.Status), d.Attempts, row.Millis(d.Next), d.HTTPStatus, d.Error, d.Answer, row.Millis(d.TriedAt),
			d.Lane, d.Seq,
		}
	}
	return s.fail("save deliveries", s.inTx(ctx, func(tx *sql.Tx) error {
		if err := s.bulk(ctx, tx, saveDeliveries, rows); err != nil {
			return err
		}
		q := s.writeQ.WithTx(tx)
		slices.SortFunc(health, func(a, b ledger.EndpointHealth) int { return strings.Compare(a.EndpointID, b.EndpointID) })
		for _, h := range health {
			p := db.WebhookHealthParams{ID: h.EndpointID, FailingMs: row.Millis(h.FailingSince), Failures: int64(h.Failures), PauseMs: row.Millis(h.PausedUntil)}
			if err := q.WebhookHealth(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}))
}

// changed runs a statement that tells which rows it has changed.
func (s *Store) changed(ctx context.Context, doing, statement string, args ...any) ([]string, error) {
	return change(ctx, s, doing, func(ctx context.Context, args []any) (ids []string, err error) {
		rows, err := s.write.QueryContext(ctx, s.unfold(statement), args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, rows.Err()
	}, args)
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
