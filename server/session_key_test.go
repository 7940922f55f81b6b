package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// TestSessionIsCreatedOncePerKey: a request whose response was lost can be repeated, also
// after the person has decided; a different request with its key is refused.
func TestSessionIsCreatedOncePerKey(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			body := `{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"metadata":{"order":"1"},"idempotencyKey":"order 1"}`
			first := c.do(t, "POST", "/v1/mandates", body).ok(t)
			require.Empty(t, first.Header.Get("Idempotency-Replayed"))
			require.Regexp(t, "^sess_[A-Za-z0-9_-]{43}$", first.str("sessionToken"))
			c.Clock.Advance(time.Hour)
			again := c.do(t, "POST", "/v1/mandates", body).ok(t)
			require.Equal(t, first.Body, again.Body)
			require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))

			header := `{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"metadata":{"order":"1"}}`
			require.Equal(t, first.Body, c.do(t, "POST", "/v1/mandates", header, "Idempotency-Key", "order 1").ok(t).Body)
			require.NotEqual(t, first.str("sessionToken"), c.do(t, "POST", "/v1/mandates", header).ok(t).str("sessionToken"))
			require.NotEqual(t, first.str("sessionToken"), c.do(t, "POST", "/v1/mandates", header, "Idempotency-Key", "order 2").ok(t).str("sessionToken"))

			for _, other := range []string{
				`{"maxPerTxCents":501,"maxMonthlySpendCents":5000,"metadata":{"order":"1"},"idempotencyKey":"order 1"}`,
				`{"maxPerTxCents":500,"maxMonthlySpendCents":5001,"metadata":{"order":"1"},"idempotencyKey":"order 1"}`,
				`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"metadata":{"order":"2"},"idempotencyKey":"order 1"}`,
				`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"idempotencyKey":"order 1"}`,
				`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"metadata":{"order":"1"},"allowedMerchantIds":["*"],"idempotencyKey":"order 1"}`,
				`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"metadata":{"order":"1"},"returnUrl":"https://shop.example/","idempotencyKey":"order 1"}`,
				`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"metadata":{"order":"1"},"expiresAt":"2028-01-01T00:00:00Z","idempotencyKey":"order 1"}`,
			} {
				c.do(t, "POST", "/v1/mandates", other).refused(t, 422, "idempotency_mismatch")
			}
			c.do(t, "POST", "/v1/mandates", body, "Idempotency-Key", "order 3").refused(t, 400, "validation_error")

			_, err := c.Client().CompleteTestSession(t.Context(), first.str("sessionToken"), client.TestCompletion{MaxPerTxCents: 100})
			require.NoError(t, err)
			require.Equal(t, "completed", c.do(t, "POST", "/v1/mandates", body).ok(t).str("status"))
		})
	}
}

// TestSessionKeysOfMerchantsDiffer: a key belongs to its merchant.
func TestSessionKeysOfMerchantsDiffer(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	other, err := c.Client().CreateTestMerchant(t.Context(), "Other")
	require.NoError(t, err)
	second, err := client.New(client.Config{BaseURL: c.URL, MerchantID: other.ID, APIKey: other.APIKey})
	require.NoError(t, err)
	t.Cleanup(second.CloseIdleConnections)
	p := client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, IdempotencyKey: "order 1"}
	one, err := c.Client().CreateSession(t.Context(), p)
	require.NoError(t, err)
	two, err := second.CreateSession(t.Context(), p)
	require.NoError(t, err)
	require.NotEqual(t, one.SessionToken, two.SessionToken)
}
