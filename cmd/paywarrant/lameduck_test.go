package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServeIsNotReadyBeforeItStops: load balancers see 503 at /readyz while requests are
// still answered, and only then does the listener close.
func TestServeIsNotReadyBeforeItStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &operated{dir: dir, file: filepath.Join(dir, "pay.toml")}
	require.NoError(t, os.WriteFile(s.file, fmt.Appendf(nil, "mode = \"sandbox\"\nbase_url = \"https://pay.example\"\nlisten = \"127.0.0.1:0\"\n"+
		"store = %q\nkey_file = %q\nlame_duck = \"3s\"\n", filepath.Join(dir, "pay.db"), filepath.Join(dir, "kek")), 0o600))
	s.start(t)
	status := func(path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, http.StatusOK, status("/readyz"))
	stopped := make(chan struct{})
	go func() {
		s.stop()
		close(stopped)
	}()
	require.Eventually(t, func() bool { return status("/readyz") == http.StatusServiceUnavailable }, time.Minute, 5*time.Millisecond)
	require.Equal(t, http.StatusOK, status("/healthz"))
	<-stopped
	require.Zero(t, status("/healthz"))
}
