package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// logBuffer is a log that goroutines may write to.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func requireNoSecret(t *testing.T, text, where string) {
	t.Helper()
	for _, canary := range []string{"ApiKeyCanary", "TokenCanary", "SessionCanary"} {
		require.NotContains(t, text, canary, where)
	}
}

// Whatever goes wrong, in whatever way the other side repeats what we sent: no
// error and no log line holds the key or a token.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	echo := func(status int) http.HandlerFunc { // the worst proxy there is
		return func(w http.ResponseWriter, r *http.Request) {
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			all := strings.Join([]string{r.Header.Get("X-Service-Api-Key"), r.RequestURI, body.String()}, " ")
			quoted, _ := json.Marshal(all)
			w.Header().Set("X-Request-Id", r.Header.Get("X-Service-Api-Key")+r.RequestURI)
			w.Header().Set("Location", r.RequestURI+"?"+r.Header.Get("X-Service-Api-Key"))
			reply(status, fmt.Sprintf(`{"code":%s,"message":%s,"param":%s,"requestId":%s,"docUrl":%s}`, quoted, quoted, quoted, quoted, quoted))(w, r)
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = new(bytes.Buffer).ReadFrom(r.Body)
		<-r.Context().Done()
	}
	for name, handler := range map[string]http.HandlerFunc{
		"400": echo(400), "402": echo(402), "503": echo(503), "200": echo(200), "302": echo(302),
		"hang up": hangUp, "silence": silent, "page": reply(502, "<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log logBuffer
				c := setupInMemory(t, handler, func(cfg *client.Config) { cfg.Logger, cfg.MaxRetries = log.logger(), 1 })
				requireSilence(t, c, &log)
			})
		})
	}
}

// A transport of the caller's own may put anything into its errors.
func TestTalkativeTransport(t *testing.T) {
	t.Parallel()
	var log logBuffer
	c := newClient(t, client.Config{BaseURL: "https://pay.example", HTTPClient: &http.Client{
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("traced %s %s %v: %w", r.Method, r.URL, r.Header, errors.New(apiKey))
		}),
	}}, noRetries, func(cfg *client.Config) { cfg.Logger = log.logger() })
	requireSilence(t, c, &log)
}

func requireSilence(t *testing.T, c *client.Client, log *logBuffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Minute)
	defer cancel()
	for name, err := range everyMethod(ctx, c) {
		if err == nil {
			require.Contains(t, []string{"stats", "page"}, name)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
				requireNoSecret(t, fmt.Sprintf(verb, e), name)
			}
			asJSON, _ := json.Marshal(e)
			requireNoSecret(t, string(asJSON), name)
		}
	}
	requireNoSecret(t, log.String(), "log")
	require.Contains(t, log.String(), `"route":"/v1/mandates/{intentMandate}/balance"`)
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		handler, _ := inTurn(hangUp, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", "req_8")
			reply(200, `{"delegateId":"del_1","status":"active"}`)(w, r)
		})
		c := setupInMemory(t, handler, func(cfg *client.Config) { cfg.Logger = log.logger() })
		_, err := c.Balance(t.Context(), token)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.Len(t, lines, 2)
		var first, second map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
		require.NoError(t, json.Unmarshal([]byte(lines[1]), &second))
		for _, line := range []map[string]any{first, second} {
			require.Equal(t, "DEBUG", line["level"])
			require.Equal(t, "GET", line["method"])
			require.Equal(t, "/v1/mandates/{intentMandate}/balance", line["route"])
			require.Contains(t, line, "duration")
		}
		require.InDelta(t, 1, first["attempt"], 0)
		require.Contains(t, first["error"], "EOF")
		require.NotContains(t, first, "status")
		require.InDelta(t, 2, second["attempt"], 0)
		require.InDelta(t, 200, second["status"], 0)
		require.Equal(t, "req_8", second["request_id"])
		require.NotContains(t, second, "error")
	})
}
