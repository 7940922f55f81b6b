package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/telemetry/prom"
)

// lines is a log in memory.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logged configures a log of everything in memory.
func logged(cfg *server.Config) *lines {
	l := &lines{}
	cfg.Logger = slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return l
}

// TestClientThatHangsUpIsNoFailure: neither in the log nor in the metrics.
func TestClientThatHangsUpIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			var log *lines
			registry := prometheus.NewRegistry()
			c := setup(t, &servertest.Options{Store: kind.open, Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}, Configure: func(cfg *server.Config) {
				log = logged(cfg)
				cfg.Metrics = prom.Metrics(registry)
			}})
			m := c.mandate(t, 500, 1000)
			token := c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":500,"maxMonthlySpendCents":1000}`).ok(t).str("sessionToken")
			receipt, err := json.Marshal(client.ReceiptParams{
				Receipt: "eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MDEiLCJuZXR3b3JrIjoiY2FyZCJ9", Resource: "https://api.example.com/report", PayTo: wallet, Amount: "0.50",
			})
			require.NoError(t, err)
			waits := func() [3]string {
				newest := c.do(t, "GET", "/v1/events", "").ok(t).Body["data"].([]any)[0].(map[string]any)["id"].(string)
				return [3]string{"GET", "/v1/events?wait=10&ending_before=" + newest, ""}
			}
			asks := [][3]string{
				waits(),
				{"POST", "/v1/x402/verify-receipt", string(receipt)},
				{"GET", "/v1/mandates/" + m + "/balance", ""},
				{"GET", "/v1/merchants/transactions", ""},
				{"GET", "/setup/" + token, ""},
				{"POST", "/v1/paywall/settle", settleBody(t, settlement(m, "k"))},
				{"POST", "/v1/payments/charge", chargeBody(m, 1, "c")},
				{"GET", "/v1/mandates/session/" + token, ""},
			}
			send := func(ask [3]string, within time.Duration) {
				ctx, hangUp := context.WithTimeout(t.Context(), within)
				defer hangUp()
				r, err := http.NewRequestWithContext(ctx, ask[0], c.URL+ask[1], strings.NewReader(ask[2]))
				if err != nil {
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-Service-Merchant-Id", c.merchant.ID)
				r.Header.Set("X-Service-Api-Key", c.merchant.APIKey)
				if resp, err := http.DefaultClient.Do(r); err == nil {
					_ = resp.Body.Close()
				}
			}
			var all sync.WaitGroup
			for i := range 240 {
				all.Go(func() { send(asks[i%len(asks)], time.Duration(i%24)*time.Millisecond/2) })
			}
			all.Wait()
			// On a loaded machine none of these may reach the service. A long poll after the
			// newest event, that of the charges above included, waits 10 s for its caller.
			for within := 100 * time.Millisecond; !strings.Contains(log.String(), `"status":499`); within = min(2*within, 8*time.Second) {
				send(waits(), within)
			}
			require.NotContains(t, log.String(), `"level":"ERROR"`)
			families, err := registry.Gather()
			require.NoError(t, err)
			for _, f := range families {
				require.NotContains(t, f.String(), `value:"500"`)
				require.NotContains(t, f.String(), `value:"503"`)
			}
		})
	}
}
