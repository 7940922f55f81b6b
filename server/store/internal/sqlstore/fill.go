package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/paywarrant/paywarrant/server/rail"
)

// fillPage is how many rows the migration reads at a time.
const fillPage = 500

// fillTables is migration 14. It moves instruments out of the JSON of their mandates,
// and checkouts out of the metadata of their sessions. What the mandates that were
// revoked before still have on their rails is ended once more.
func fillTables(ctx context.Context, tx *sql.Tx) error {
	if err := fillInstruments(ctx, tx); err != nil {
		return fmt.Errorf("move instruments: %w", err)
	}
	if err := fillCheckouts(ctx, tx); err != nil {
		return fmt.Errorf("move checkouts: %w", err)
	}
	return nil
}

type oldMandate struct {
	id, status, instruments string
	created, revoked        int64
}

func fillInstruments(ctx context.Context, tx *sql.Tx) error {
	for last := ""; ; {
		page, err := readPage(ctx, tx, func(m *oldMandate) []any {
			return []any{&m.id, &m.status, &m.instruments, &m.created, &m.revoked}
		}, "SELECT id, status, instruments, created_ms, revoked_ms FROM mandates WHERE id > $1 ORDER BY id LIMIT $2", last, fillPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, m := range page {
			if err := m.fill(ctx, tx); err != nil {
				return err
			}
		}
		last = page[len(page)-1].id
	}
}

func (m oldMandate) fill(ctx context.Context, tx *sql.Tx) error {
	var instruments []rail.Instrument
	if err := json.Unmarshal([]byte(m.instruments), &instruments); err != nil {
		return fmt.Errorf("mandate %s: %w", m.id, err)
	}
	state := "connected"
	if m.status == "revoked" {
		state = "disconnecting"
		if _, err := tx.ExecContext(ctx, "INSERT INTO unwindings (id, kind, since_ms, due_ms, attempts) VALUES ($1, 'mandate', $2, $3, 0)",
			m.id, m.revoked, m.revoked); err != nil {
			return err
		}
	}
	for n, in := range instruments {
		_, err := tx.ExecContext(ctx, `INSERT INTO instruments (reference, session_hash, mandate_id, state, connection, rail, customer, method,
			brand, last_four, created_ms, changed_ms) VALUES ($1, '', $2, $3, '', $4, $5, $6, $7, $8, $9, $10)`,
			fmt.Sprintf("%s.%d", m.id, n), m.id, state, string(in.Rail), in.Customer, in.Method, in.Brand, in.LastFour, m.created, m.created)
		if err != nil {
			return err
		}
	}
	return nil
}

// readPage reads all rows of a query before the next statement runs: a transaction
// has one connection.
func readPage[R any](ctx context.Context, tx *sql.Tx, into func(*R) []any, query string, args ...any) ([]R, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var page []R
	for rows.Next() {
		var r R
		if err := rows.Scan(into(&r)...); err != nil {
			return nil, err
		}
		page = append(page, r)
	}
	return page, rows.Err()
}
