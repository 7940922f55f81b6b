package agent_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/x402"
)

// TestReceiptOfAMeteredStreamIsInItsTrailer: and names what was charged of the price.
func TestReceiptOfAMeteredStreamIsInItsTrailer(t *testing.T) {
	t.Parallel()
	receipt := x402.Settlement{Success: true, Transaction: "0x1", Network: "eip155:84532", Payer: payTo, Metered: &x402.Metered{
		TransactionID: "txn_1", AuthorizedMicros: 10_000, MeteredMicros: 2500, CapturedMicros: 2500,
	}}
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		switch {
		case !paid:
			askMandate(w, r, "http://"+r.Host+r.URL.Path, true)
		case r.URL.Path == "/whole":
			w.Header().Set("X-PAYMENT-RESPONSE", receipt.Header())
			_, _ = io.WriteString(w, "answer")
		default:
			w.Header().Set("Trailer", "X-PAYMENT-RESPONSE")
			_, _ = io.WriteString(w, "answer")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set("X-PAYMENT-RESPONSE", receipt.Header())
		}
	})
	for _, path := range []string{"/whole", "/stream"} {
		cfg := agent.Config{MaxPriceMicros: 10_000, Service: &counted{}, Mandate: "dtok_1"}
		resp, err := get(t, client(t, cfg), s.URL+path)
		require.NoError(t, err)
		r, ok := agent.ReceiptFrom(resp.Response)
		require.True(t, ok)
		require.Equal(t, []any{int64(2500), "0x1", payTo}, []any{r.AmountMicros, r.Transaction, r.Payer})

		cfg.Base, cfg.AllowPrivate = &http.Transport{DisableKeepAlives: true}, true
		c, err := agent.New(cfg)
		require.NoError(t, err)
		f, err := c.Fetch(t.Context(), agent.FetchParams{URL: s.URL + path})
		require.NoError(t, err)
		require.NotNil(t, f.Receipt)
		require.EqualValues(t, 2500, f.Receipt.AmountMicros)
	}
}
