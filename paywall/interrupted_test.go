package paywall_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

// interrupted sends a request and returns how often the handler ran. The client of a POST
// disconnects while the handler works; after is what the handler then does.
func (w *world) interrupted(method, header, value string, after http.HandlerFunc) int64 {
	before := w.served.Load()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		if method == http.MethodPost {
			cancel()
		}
		after(rw, r)
	}
	_, _ = serve(w.protected(w.gate), request(method, header, value).WithContext(ctx))
	return w.served.Load() - before
}

func TestAnswerWithoutBodyIsServedThoughTheClientLeft(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]http.HandlerFunc{
		"204":   func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) },
		"201":   func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusCreated) },
		"flush": func(rw http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(rw).Flush() },
		"aborts": func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusOK)
			panic(http.ErrAbortHandler)
		},
	} {
		each(t, nil, func(t *testing.T, w *world, c credential) {
			paid := c.pay(w, w.gate)
			require.EqualValues(t, 1, w.interrupted(http.MethodPost, c.header, paid, after), name)
			require.Zero(t, w.interrupted(http.MethodPost, c.header, paid, after), name)
			requireRefusal(t, w.ask(c.header, paid), 402, "already_redeemed")
			require.Equal(t, 1, w.service.moved())
		})
	}
}

func TestInterruptedPaymentRunsTheHandlerFiveTimes(t *testing.T) {
	t.Parallel()
	nothing := func(http.ResponseWriter, *http.Request) {}
	for name, tc := range map[string]struct {
		method string
		after  http.HandlerFunc
	}{
		"no status":    {http.MethodPost, nothing},
		"panic":        {http.MethodPost, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"proxy's 502":  {http.MethodPost, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }},
		"HEAD":         {http.MethodHead, sunny},
		"not modified": {http.MethodGet, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotModified) }},
	} {
		for _, store := range []string{"memory", "sqlite"} {
			t.Run(name+" "+store, func(t *testing.T) {
				t.Parallel()
				w := setup(t, func(c *paywall.Config) {
					if store == "sqlite" {
						sql, err := paywall.NewSQL(paywall.SQLConfig{DB: openDB(t, store), Clock: c.Clock})
						require.NoError(t, err)
						require.NoError(t, sql.Migrate(t.Context()))
						c.Redemptions = sql
					}
				})
				paid, runs := w.payX402V1(w.gate, nil), int64(0)
				for range 20 {
					runs += w.interrupted(tc.method, "X-PAYMENT", paid, tc.after)
				}
				require.EqualValues(t, 5, runs)
				requireRefusal(t, w.ask("X-PAYMENT", paid), 402, "already_redeemed")
				require.Equal(t, 1, w.service.moved())

				other := w.payX402V1(w.gate, nil)
				for range 4 {
					require.EqualValues(t, 1, w.interrupted(tc.method, "X-PAYMENT", other, tc.after))
				}
				w.handler = sunny
				require.Equal(t, 200, w.ask("X-PAYMENT", other).Code, "an honest client that was interrupted gets its content")
				require.Equal(t, 4, w.seen.Interrupted)
			})
		}
	}
}

func TestHandlerThatFailsByItselfIsNotLimited(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	paid := w.payX402V1(w.gate, nil)
	for range 20 {
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }
		require.Equal(t, 500, w.ask("X-PAYMENT", paid).Code)
		ctx, cancel := context.WithCancel(t.Context())
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusInternalServerError)
			cancel()
		}
		require.Equal(t, 500, w.send(w.gate, request(http.MethodGet, "X-PAYMENT", paid).WithContext(ctx)).Code)
		ctx, cancel = context.WithCancel(t.Context())
		w.handler = func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			paywall.Decline(r.Context())
		}
		w.send(w.gate, request(http.MethodGet, "X-PAYMENT", paid).WithContext(ctx))
	}
	w.handler = sunny
	require.Equal(t, 200, w.ask("X-PAYMENT", paid).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestInterruptedRequestSpendsItsCredit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method string
		after  http.HandlerFunc
		spent  bool
	}{
		"204":       {http.MethodPost, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) }, true},
		"no status": {http.MethodPost, func(http.ResponseWriter, *http.Request) {}, true},
		"502":       {http.MethodPost, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }, true},
		"HEAD":      {http.MethodHead, sunny, true},
		"HEAD 500":  {http.MethodHead, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }, false},
	} {
		b := &wallet{left: 1}
		w := setup(t, b.config)
		require.EqualValues(t, 1, w.interrupted(tc.method, "X-Bundle-Token", "tok", tc.after), name)
		require.Equal(t, tc.spent, b.given == 0, name)
	}
}

// A middleware may end the context although the client is connected.
func TestAnswerAfterTheContextEndedIsPrivate(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Cache-Control", "public")
		cancel()
	}
	rec := w.send(w.gate, request(http.MethodGet, "X-PAYMENT", w.payX402V1(w.gate, nil)).WithContext(ctx))
	require.Equal(t, "private", rec.Header().Get("Cache-Control"))
}
