// Package pgdb is what all that keep money's records in PostgreSQL share: how
// connections are set, and which failures may be tried again.
package pgdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Configure sets what every connection has where the URL does not say otherwise: an
// instance that died does not hold rows locked for long.
func Configure(c *pgx.ConnConfig) {
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	for name, value := range map[string]string{
		"application_name": "paywarrant", "idle_in_transaction_session_timeout": "10000",
	} {
		if _, set := c.RuntimeParams[name]; !set {
			c.RuntimeParams[name] = value
		}
	}
}

// Durable makes commits wait for stable storage where the database was set not to; a
// stronger setting than that is left. An error is the connection's.
func Durable(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false)
		WHERE current_setting('synchronous_commit') IN ('off', 'local')`)
	if err != nil {
		return fmt.Errorf("set synchronous_commit: %w", err)
	}
	return nil
}

// Lost tells that a transaction did nothing, because another one won: it may be run
// again.
func Lost(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// Again tells whether a transaction that ended with err may succeed when it is run
// again: it lost, or its connection or server ended. Of one that ended at its commit
// nobody knows, unless it [Lost].
func Again(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "57P01", "57P02", "57P03": // the server ends or starts
		return true
	}
	return Lost(err) || e.Code[:2] == "08"
}
