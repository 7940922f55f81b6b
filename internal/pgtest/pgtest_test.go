package pgtest_test

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/pgtest"
)

// childEnv makes this test binary a process that starts a cluster and waits to be killed.
const childEnv = "PGTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

func query[T any](t *testing.T, url, sql string) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	require.NoError(t, conn.Close(t.Context()))
	return v
}

func folder(t *testing.T, clusterURL string) string {
	t.Helper()
	u, err := url.Parse(clusterURL)
	require.NoError(t, err)
	return u.Query().Get("host")
}

func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	a, b := pgtest.Schema(t), pgtest.Schema(t)
	require.Equal(t, 1, query[int](t, a, "WITH made AS (SELECT 1 AS n) SELECT n FROM made"))
	require.NotEqual(t, query[string](t, a, "SELECT current_schema()"), query[string](t, b, "SELECT current_schema()"))
	require.Equal(t, "on", query[string](t, a, "SHOW fsync"))
	require.Equal(t, "on", query[string](t, a, "SHOW synchronous_commit"))
	require.Error(t, pgtest.DropSchema(t.Context(), "postgres:///postgres?search_path=public"))
}

func TestStopKillAndRestart(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, "max_connections = 20")
	require.Equal(t, "20", query[string](t, c.URL(), "SHOW max_connections"))
	require.NoError(t, c.Stop(t.Context()))
	require.Error(t, c.Stop(t.Context()), "it does not run")
	_, err := pgx.Connect(t.Context(), c.URL())
	require.Error(t, err)
	require.NoError(t, c.Start(t.Context()))
	require.NoError(t, c.Kill(t.Context()))
	require.NoError(t, c.Start(t.Context()))
	require.NoError(t, c.Restart(t.Context()))
	require.Equal(t, 1, query[int](t, c.URL(), "SELECT 1"))
	dir := folder(t, c.URL())
	require.DirExists(t, dir)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.NoDirExists(t, dir)
}

// TestNothingIsLeftOfAKilledProcess runs this test in a child, which is killed
// with its server running.
func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv(childEnv) != "" {
		c := pgtest.Start(t)
		_, err := os.Stdout.WriteString("url " + c.URL() + "\n")
		require.NoError(t, err)
		<-t.Context().Done()
		return
	}
	pgtest.Start(t) // skips if PostgreSQL is not installed
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$") // this program
	child.Env = append(os.Environ(), childEnv+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var at string
	for lines := bufio.NewScanner(out); at == "" && lines.Scan(); {
		at, _ = strings.CutPrefix(lines.Text(), "url ")
		if at == lines.Text() {
			at = ""
		}
	}
	require.DirExists(t, folder(t, at))
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.Eventually(t, func() bool {
		_, err := os.Stat(folder(t, at))
		return os.IsNotExist(err)
	}, time.Minute, 10*time.Millisecond)
}
