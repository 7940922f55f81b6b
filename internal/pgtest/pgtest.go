// Package pgtest runs a real PostgreSQL for tests.
//
//	func TestStore(t *testing.T) {
//		store, err := postgres.Open(t.Context(), pgtest.Schema(t))
//		…
//	}
//
// Schema returns the URL of an empty schema on a private cluster. The cluster is started
// once per test process from the installed binaries, in a temporary folder, and is reached
// through a unix socket. If PAYWARRANT_TEST_POSTGRES contains a URL, that server is used
// instead. Tests that stop or kill the server start their own with [Start].
//
// If PostgreSQL is not installed, the test is skipped, or fails if PAYWARRANT_REQUIRE
// contains postgres. A cluster ends, and its folder is deleted, with the process that
// started it, however that ends.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing reports that PostgreSQL is not installed.
var ErrMissing = errors.New("pgtest: no PostgreSQL binaries found")

// shared is the cluster of the test process. It lives as long as the process.
var shared = sync.OnceValues(func() (*Cluster, error) { return start(context.Background(), nil) })

// Schema returns the URL of an empty schema for one test, which is dropped when the test
// ends.
func Schema(t testing.TB) string {
	t.Helper()
	base := os.Getenv("PAYWARRANT_TEST_POSTGRES")
	if base == "" {
		c, err := shared()
		need(t, err)
		base = c.URL()
	}
	u, err := NewSchema(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := DropSchema(ctx, u); err != nil {
			t.Error(err)
		}
	})
	return u
}

// Start starts a cluster for one test, which may stop and kill it. Settings are lines of
// postgresql.conf, such as "max_connections = 20".
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := start(t.Context(), settings)
	need(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// need ends the test if there is no cluster: the test is skipped if PostgreSQL is neither
// installed nor required, and fails otherwise.
func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && !strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "postgres"):
		t.Skip("needs PostgreSQL: install it, or set PAYWARRANT_TEST_POSTGRES to the URL of one")
	default:
		t.Fatal(err)
	}
}

// NewSchema creates an empty schema on a server and returns the URL whose connections use it.
func NewSchema(ctx context.Context, base string) (string, error) {
	name := "test_" + strings.ToLower(rand.Text())
	if err := run(ctx, base, "CREATE SCHEMA "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("pgtest: read URL: %w", err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// DropSchema drops a schema that [NewSchema] created, with its content.
func DropSchema(ctx context.Context, schemaURL string) error {
	u, err := url.Parse(schemaURL)
	if err != nil {
		return fmt.Errorf("pgtest: read URL: %w", err)
	}
	name := u.Query().Get("search_path")
	if !strings.HasPrefix(name, "test_") {
		return fmt.Errorf("pgtest: %q is no test's schema", name)
	}
	return run(ctx, schemaURL, "DROP SCHEMA "+name+" CASCADE")
}

func run(ctx context.Context, base, statement string) error {
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		return fmt.Errorf("pgtest: connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("pgtest: %s: %w", statement, err)
	}
	return nil
}
