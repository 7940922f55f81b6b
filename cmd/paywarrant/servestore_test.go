package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoreOfARunningServiceIsNotTaken: a second serve on an SQLite file is refused, and
// changes nothing. A new file is logged with its whole path.
func TestStoreOfARunningServiceIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := filepath.Join(dir, "pay.db")
	write := func(name, baseURL string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "mode = \"sandbox\"\nbase_url = %q\nlisten = \"127.0.0.1:0\"\n"+
			"store = %q\nkey_file = %q\nlame_duck = \"0s\"\n", baseURL, store, filepath.Join(dir, "kek")), 0o600))
		return file
	}
	first := &operated{dir: dir, file: write("first.toml", "http://127.0.0.1:4091")}
	first.start(t)
	first.mu.Lock()
	require.Contains(t, first.logs.String(), `creating an empty one","path":"`+store+`"`)
	first.mu.Unlock()

	var logs bytes.Buffer
	second := serveCmd{Config: configFile(write("second.toml", "http://127.0.0.1:4092"))}
	require.ErrorContains(t, second.Run(t.Context(), output{io.Discard, &logs}), "another service uses "+store)
	require.NotContains(t, logs.String(), "base URL has changed")
	link := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.Symlink(store, link))
	store = link
	second = serveCmd{Config: configFile(write("third.toml", "http://127.0.0.1:4093"))}
	require.ErrorContains(t, second.Run(t.Context(), output{io.Discard, &logs}), "another service uses ")
	_, err := startDevSystem(t.Context(), devSystemConfig{Dir: dir, Addr: "127.0.0.1:0", NoChain: true, Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "another service uses ")
	first.stop()
}
