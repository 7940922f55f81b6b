// Package postgres runs the service of a test on PostgreSQL:
//
//	srv := servertest.Start(t, &servertest.Options{Store: postgres.Open})
//
// It is apart from package servertest because it compiles in a PostgreSQL driver.
package postgres

import (
	"testing"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store/postgres"
)

// Open opens a schema of a private PostgreSQL, which is started once for all tests of
// the process. It skips the test if no PostgreSQL is installed, and fails it if the
// environment's PAYWARRANT_REQUIRE names postgres.
func Open(t testing.TB) servertest.Store {
	t.Helper()
	store, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: pgtest.Schema(t), SidecarFolder: t.TempDir()})
	if err != nil {
		t.Fatalf("servertest/postgres: %v", err)
	}
	return store
}
