// Package postgres runs the service of a test on PostgreSQL:
//
//	srv := servertest.Start(t, &servertest.Options{Store: postgres.Open})
//
// It is separate from package servertest because it compiles a PostgreSQL driver.
package postgres

import (
	"testing"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store/postgres"
)

// Open opens a new schema of a private PostgreSQL server, which starts once for all tests
// of the process. If no PostgreSQL is installed, Open skips the test, or fails it if the
// environment variable PAYWARRANT_REQUIRE names postgres.
func Open(t testing.TB) servertest.Store {
	t.Helper()
	store, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: pgtest.Schema(t), SidecarFolder: t.TempDir()})
	if err != nil {
		t.Fatalf("servertest/postgres: %v", err)
	}
	return store
}
