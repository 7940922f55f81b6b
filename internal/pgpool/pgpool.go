// Package pgpool holds what the PostgreSQL stores share: connection settings, and which
// errors can be retried.
package pgpool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Configure sets defaults for every connection that the URL does not set: an instance that
// died must not hold row locks for long.
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

// Durable makes commits wait for stable storage if the database is configured not to. It
// keeps a stronger setting. It returns errors of the connection.
func Durable(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false)
		WHERE current_setting('synchronous_commit') IN ('off', 'local')`)
	if err != nil {
		return fmt.Errorf("set synchronous_commit: %w", err)
	}
	return nil
}

// Lost reports whether a transaction had no effect because a concurrent one won, so that it
// can be run again.
func Lost(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// Again reports whether a transaction that ended with err may succeed when it is run again:
// it lost against another, or its connection or server ended. Unless it [Lost], a
// transaction that ended at its commit may have been committed.
func Again(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "57P01", "57P02", "57P03": // the server is stopping or starting
		return true
	}
	return Lost(err) || e.Code[:2] == "08"
}
