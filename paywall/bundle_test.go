package paywall_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

func bundle(deduct func(context.Context, string) (paywall.BundleResult, error)) *paywall.CreditBundle {
	if deduct == nil {
		deduct = func(context.Context, string) (paywall.BundleResult, error) { return paywall.BundleResult{}, nil }
	}
	return &paywall.CreditBundle{
		Tiers:       []paywall.Tier{{Name: "Small", USDCents: 500, Requests: 1000}},
		PurchaseURL: "https://api.example.com/buy", BalanceURL: "https://api.example.com/balance", ValidateAndDeduct: deduct,
	}
}

// wallet is a merchant's own record of credits.
type wallet struct{ left, given int64 }

func (b *wallet) config(c *paywall.Config) {
	c.CreditBundle = bundle(func(_ context.Context, token string) (paywall.BundleResult, error) {
		if token != "tok" || b.left == 0 {
			return paywall.BundleResult{}, nil
		}
		b.left--
		return paywall.BundleResult{Valid: true, CreditsRemaining: b.left, TenantID: "acme"}, nil
	})
	c.CreditBundle.Refund = func(_ context.Context, token string) error {
		b.left++
		b.given++
		return nil
	}
}

func TestBundleTakesOneCreditARequest(t *testing.T) {
	t.Parallel()
	b := &wallet{left: 2}
	w := setup(t, b.config)
	rec := w.ask("X-Bundle-Token", "tok")
	require.Equal(t, 200, rec.Code)
	require.Equal(t, "1", rec.Result().Header.Get("X-Bundle-Credits-Remaining"))
	require.Equal(t, "private", rec.Result().Header.Get("Cache-Control"))
	require.Equal(t, paywall.Payment{Credential: paywall.CredentialBundle, Scheme: "bundle", TenantID: "acme", CreditsRemaining: 1}, w.seen)
	rec = w.ask("X-Bundle-Token", "tok")
	require.Equal(t, "0", rec.Result().Header.Get("X-Bundle-Credits-Remaining"))

	for _, token := range []string{"tok", "another"} {
		rec = w.ask("X-Bundle-Token", token)
		requireRefusal(t, rec, 402, "insufficient_credits")
		all := body(t, rec)
		require.Equal(t, "https://api.example.com/buy", all["purchaseUrl"])
		require.Len(t, all["tiers"], 1)
	}
	require.Zero(t, w.service.moved())
}

func TestCreditOfAFailedRequestIsGivenBack(t *testing.T) {
	t.Parallel()
	b := &wallet{left: 5}
	w := setup(t, b.config)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("X-Bundle-Token", "tok").Code)
	w.handler = func(http.ResponseWriter, *http.Request) { panic("broken") }
	_, _ = serve(w.protected(w.gate), request(http.MethodGet, "X-Bundle-Token", "tok"))
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(404) }
	require.Equal(t, 404, w.ask("X-Bundle-Token", "tok").Code)
	require.EqualValues(t, 5, b.left)
	require.EqualValues(t, 3, b.given)
}

func TestBundleThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := setup(t, func(c *paywall.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.CreditBundle = bundle(func(_ context.Context, token string) (paywall.BundleResult, error) {
			return paywall.BundleResult{}, errors.New("no row for " + token)
		})
	})
	rec := w.ask("X-Bundle-Token", "secret-token")
	require.Equal(t, 503, rec.Code)
	require.NotEmpty(t, rec.Result().Header.Get("Retry-After"))
	require.NotContains(t, rec.Body.String()+log.String(), "secret-token")
	require.Contains(t, log.String(), "[redacted]")
	require.Zero(t, w.served.Load())
	requireRefusal(t, w.ask("X-Bundle-Token", strings.Repeat("a", 9<<10)), 402, "invalid_bundle_token")
}
