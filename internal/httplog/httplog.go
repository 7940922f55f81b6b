// Package httplog gives each request an id, logs how it ended, and turns panics
// into answers. It logs the route that was matched, never the path, since paths
// carry tokens; nor does it log queries, headers or bodies.
package httplog

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/felixge/httpsnoop"
)

// Header carries the request's id in every answer.
const Header = "X-Request-Id"

type contextKey struct{}

// RequestID returns the id of the request that ctx belongs to; empty outside of one.
func RequestID(ctx context.Context) string {
	s, _ := ctx.Value(contextKey{}).(string)
	return s
}

// Config configures [Wrap]. Every field is required, but Watch.
type Config struct {
	Logger *slog.Logger
	// NewID makes the id of a request.
	NewID func() string
	// Panicked answers a request whose handler panicked before it answered.
	Panicked http.HandlerFunc
	// Watch is told of each request: of its beginning, and by the function that it
	// returns of its end. The request that it returns is handled. Nil: nobody is told.
	Watch func(*http.Request) (*http.Request, func(status int, took time.Duration))
}

// Wrap puts the three around a handler.
func Wrap(cfg Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestID := cfg.NewID()
		w.Header().Set(Header, requestID)
		r = r.WithContext(context.WithValue(r.Context(), contextKey{}, requestID))
		ended := func(int, time.Duration) {}
		if cfg.Watch != nil {
			r, ended = cfg.Watch(r)
		}
		m := &measure{began: time.Now()}
		w = m.wrap(w)
		defer func() {
			if p := recover(); p != nil {
				cfg.Logger.ErrorContext(r.Context(), "handler panicked", slog.String("requestId", requestID),
					slog.String("route", r.Pattern), slog.String("stack", string(debug.Stack())))
				if m.status != 0 || p == http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
					ended(http.StatusInternalServerError, time.Since(m.began))
					panic(http.ErrAbortHandler) // half an answer must not look whole
				}
				cfg.Panicked(w, r)
			}
			status, took := max(m.status, http.StatusOK), time.Since(m.began)
			cfg.Logger.LogAttrs(r.Context(), level(status), "request", slog.String("requestId", requestID),
				slog.String("method", r.Method), slog.String("route", r.Pattern), slog.Int("status", status),
				slog.Int64("bytes", m.bytes), slog.Duration("took", took))
			ended(status, took)
		}()
		next.ServeHTTP(w, r)
	})
}

func level(status int) slog.Level {
	if status >= http.StatusInternalServerError {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// measure counts what is written, and leaves flushing and the rest as it was.
type measure struct {
	began  time.Time
	status int
	bytes  int64
}

func (m *measure) wrap(w http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				if m.status == 0 && code >= http.StatusOK {
					m.status = code
				}
				next(code)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) {
				if m.status == 0 {
					m.status = http.StatusOK
				}
				n, err := next(b)
				m.bytes += int64(n)
				return n, err
			}
		},
	})
}
