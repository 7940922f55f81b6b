package httplog_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/httplog"
)

func setup(t *testing.T, h http.HandlerFunc) (*httptest.Server, *bytes.Buffer) {
	var log bytes.Buffer
	mux := http.NewServeMux()
	mux.Handle("GET /things/{token}", h)
	srv := httptest.NewServer(httplog.Wrap(httplog.Config{
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		NewID:  func() string { return "req_1" },
		Panicked: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(httplog.RequestID(r.Context())))
		},
	}, mux))
	t.Cleanup(srv.Close)
	return srv, &log
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

func TestLogsTheRouteAndNeverThePath(t *testing.T) {
	t.Parallel()
	srv, log := setup(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(httplog.RequestID(r.Context())))
	})
	resp := get(t, srv.URL+"/things/dtok_secret?key=hidden")
	require.Equal(t, "req_1", resp.Header.Get("X-Request-Id"))
	srv.Close()
	require.Contains(t, log.String(), `"route":"GET /things/{token}"`)
	require.Contains(t, log.String(), `"requestId":"req_1"`)
	require.NotContains(t, log.String(), "secret")
	require.NotContains(t, log.String(), "hidden")
}

func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	srv, log := setup(t, func(http.ResponseWriter, *http.Request) { panic("secret cause") })
	require.Equal(t, http.StatusInternalServerError, get(t, srv.URL+"/things/x").StatusCode)
	srv.Close()
	require.Contains(t, log.String(), "handler panicked")
}
