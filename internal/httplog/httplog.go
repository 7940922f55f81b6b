// Package httplog gives each request an id and the address of its client, logs how the
// request ended, and turns panics into responses. It logs the route that matched instead of
// the path, because paths carry tokens. It never logs queries, headers or bodies.
package httplog

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/felixge/httpsnoop"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
)

// Header carries the request's id in every response.
const Header = "X-Request-Id"

// StatusClientClosedRequest is the status, in logs and metrics, of a request whose client
// hung up before the response.
const StatusClientClosedRequest = 499

type contextKey struct{}

// origin identifies a request and its client.
type origin struct {
	requestID string
	client    netip.Addr
}

// RequestID returns the id of the request that ctx belongs to, or "" if there is none.
func RequestID(ctx context.Context) string {
	o, _ := ctx.Value(contextKey{}).(origin)
	return o.requestID
}

// ClientAddr returns the address of the client whose request ctx belongs to. It is invalid
// if there is none or if it is unknown.
func ClientAddr(ctx context.Context) netip.Addr {
	o, _ := ctx.Value(contextKey{}).(origin)
	return o.client
}

// ClientNetwork returns the name under which the client's requests are counted: its address, or
// its network ([clientaddr.Network]).
func ClientNetwork(ctx context.Context) string { return clientaddr.Network(ClientAddr(ctx)) }

// HungUp reports whether err was caused by the client hanging up: the context of its
// request is done, and err wraps the reason.
func HungUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// Config configures [Wrap]. Every field is required, except ClientAddr and Watch.
type Config struct {
	Logger *slog.Logger
	// NewID returns the id of a request.
	NewID func() string
	// ClientAddr returns the address of a request's client. Default: it is unknown.
	ClientAddr func(*http.Request) netip.Addr
	// Panicked responds to a request whose handler panicked before it responded.
	Panicked http.HandlerFunc
	// Watch is called when a request begins, and the function that it returns when the
	// request ends. The returned request is the one that is handled. Default: none.
	Watch func(*http.Request) (*http.Request, func(status int, took time.Duration))
}

// Wrap returns a handler that serves next with an id, a log record and recovery from panics
// for each request.
func Wrap(cfg Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestID := cfg.NewID()
		w.Header().Set(Header, requestID)
		o := origin{requestID: requestID}
		if cfg.ClientAddr != nil {
			o.client = cfg.ClientAddr(r)
		}
		r = r.WithContext(context.WithValue(r.Context(), contextKey{}, o))
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
					panic(http.ErrAbortHandler) // a partial response must not look complete
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

// measure counts what is written. It keeps the other methods of w, such as Flush.
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
