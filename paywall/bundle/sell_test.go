package bundle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall/bundle"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// from sends an order from a client address, through a proxy if forwarded is not empty.
func (w *world) from(peer, forwarded, body, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/bundles", strings.NewReader(body))
	r.RemoteAddr = peer + ":1234"
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	rec := httptest.NewRecorder()
	w.Purchase().ServeHTTP(rec, r)
	return rec
}

func TestStrangersOrdersDoNotUseUpTheMerchantsLimit(t *testing.T) {
	t.Parallel()
	const order = `{"tier":"small"}`
	for name, sell := range map[string]func(context.Context, bundle.Order) (bundle.Sale, error){
		"checkouts": func(context.Context, bundle.Order) (bundle.Sale, error) {
			return bundle.Sale{CheckoutURL: "https://pay.example/checkout"}, nil
		},
		"refusals": func(context.Context, bundle.Order) (bundle.Sale, error) {
			return bundle.Sale{}, &bundle.RefusedError{Status: 402, Code: "per_tx"}
		},
		"outages": func(context.Context, bundle.Order) (bundle.Sale, error) { return bundle.Sale{}, errors.New("down") },
	} {
		asked := 0
		w := setup(t, func(c *bundle.Config) {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			c.Sell = func(ctx context.Context, o bundle.Order) (bundle.Sale, error) {
				asked++
				return sell(ctx, o)
			}
		})
		for range 60 {
			w.from("10.0.0.1", "203.0.113.9", order, "")
		}
		require.Equal(t, 10*bundle.DefaultUnsoldPerSecond, asked, name)
		refused := w.from("10.0.0.1", "203.0.113.9", order, "")
		require.Equal(t, http.StatusTooManyRequests, refused.Code, name)
		require.Equal(t, "rate_limit_exceeded", object(t, refused)["code"])
		require.Equal(t, "1", refused.Header().Get("Retry-After"))
		require.NotEqual(t, http.StatusTooManyRequests, w.from("10.0.0.1", "198.51.100.7", order, "").Code, "another client of the proxy")
		w.clock.ms.Add(time.Second.Milliseconds())
		require.NotEqual(t, http.StatusTooManyRequests, w.from("10.0.0.1", "203.0.113.9", order, "").Code)
	}
}

func TestReturnAddressIsLimitedUntilItIsPaid(t *testing.T) {
	t.Parallel()
	asked, paid := 0, false
	w := setup(t, func(c *bundle.Config) {
		c.Sell = func(context.Context, bundle.Order) (bundle.Sale, error) {
			asked++
			return bundle.Sale{Paid: paid, CheckoutURL: "https://pay.example/checkout"}, nil
		}
	})
	back := object(t, w.post(`{"tier":"small"}`))["returnUrl"].(string)
	for range 60 {
		w.come(t, back, "text/html")
	}
	require.Equal(t, 10*bundle.DefaultUnsoldPerSecond, asked)
	require.Equal(t, http.StatusTooManyRequests, w.come(t, back, "text/html").Code)
	paid = true
	w.clock.ms.Add(time.Second.Milliseconds())
	for range 60 {
		require.Equal(t, http.StatusOK, w.come(t, back, "application/json").Code)
	}
}

func TestPaidOrdersAreNotLimited(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *bundle.Config) {
		c.UnsoldPerSecond = 1
		c.Sell = func(context.Context, bundle.Order) (bundle.Sale, error) { return bundle.Sale{Paid: true}, nil }
	})
	for range 40 {
		require.Equal(t, http.StatusCreated, w.from("203.0.113.9", "", `{"tier":"small"}`, "").Code)
	}
}

func TestInvalidMandateReachesNoSale(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	var asked atomic.Int64
	w := setup(t, func(c *bundle.Config) {
		c.APIURL, c.Clock, c.UnsoldPerSecond = srv.URL+"/", srv.Clock.Now, -1
		sell := bundle.ByMandate(srv.Client())
		c.Sell = func(ctx context.Context, o bundle.Order) (bundle.Sale, error) {
			asked.Add(1)
			return sell(ctx, o)
		}
	})
	good := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	short := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, ExpiresAt: srv.Clock.Now().Add(2 * time.Hour)})
	order := func(m string) *httptest.ResponseRecorder {
		return w.post(fmt.Sprintf(`{"tier":"small","mandate":%q}`, m), "Idempotency-Key", "a")
	}
	bought := order(good)
	require.Equal(t, http.StatusCreated, bought.Code, bought.Body.String())
	require.EqualValues(t, 1, asked.Load())
	srv.Clock.Advance(3 * time.Hour)
	signature := strings.Index(good, "~") - 20
	for m, want := range map[string][]any{
		"junk": {400, "validation_error"}, good[:signature] + "AAAA" + good[signature+4:]: {402, "mandate_invalid"}, short: {402, "mandate_expired"},
	} {
		got := order(m)
		require.Equal(t, want, []any{got.Code, object(t, got)["code"]}, got.Body.String())
	}
	require.EqualValues(t, 1, asked.Load())
}

func TestKeysOutOfReachRefuseNoMandate(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	w := setup(t, func(c *bundle.Config) {
		c.APIURL, c.Clock = srv.URL, srv.Clock.Now
		c.HTTPClient = &http.Client{Transport: unreachable{}}
		c.Sell = func(context.Context, bundle.Order) (bundle.Sale, error) { return bundle.Sale{Paid: true}, nil }
	})
	got := w.post(fmt.Sprintf(`{"tier":"small","mandate":%q}`, m))
	require.Equal(t, http.StatusServiceUnavailable, got.Code)
	require.NotEmpty(t, got.Header().Get("Retry-After"))
}

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route")
}
