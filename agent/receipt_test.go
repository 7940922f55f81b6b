package agent_test

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/x402"
)

// confirming is a seller that confirms the payment and goes on as its path says.
func confirming(t *testing.T) *rogue {
	t.Helper()
	return newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		switch {
		case r.URL.Path == "/free":
			_, _ = io.WriteString(w, "free")
			return
		case r.URL.Path == "/dear" || !paid:
			ask(w, r, "10000", nil)
			return
		}
		w.Header().Set("PAYMENT-RESPONSE", x402.Settlement{Success: true, Transaction: "0x1", Network: "eip155:84532", Payer: payTo}.Header())
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/free", http.StatusFound)
		case "/trap":
			http.Redirect(w, r, "/dear", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/large":
			_, _ = w.Write(make([]byte, agent.MaxFetch+1))
		case "/failed":
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
}

func TestReceiptIsFoundAcrossRedirects(t *testing.T) {
	t.Parallel()
	s := confirming(t)
	resp, err := get(t, client(t, withWallet(t)), s.URL+"/moved")
	require.NoError(t, err)
	require.Equal(t, "free", resp.text)
	r, ok := agent.ReceiptFrom(resp.Response)
	require.True(t, ok)
	require.Equal(t, []any{agent.X402, int64(10_000), "0x1", payTo}, []any{r.Method, r.AmountMicros, r.Transaction, r.Payer})
	resp, err = get(t, client(t, withWallet(t)), s.URL+"/free")
	require.NoError(t, err)
	_, ok = agent.ReceiptFrom(resp.Response)
	require.False(t, ok)
}

func TestFetchReturnsTheReceiptWithALaterError(t *testing.T) {
	t.Parallel()
	s := confirming(t)
	for path, want := range map[string]error{
		"/trap": agent.ErrPaidBefore, "/loop": nil, "/broken": io.ErrUnexpectedEOF, "/large": agent.ErrTooLarge,
	} {
		cfg := withWallet(t)
		cfg.Base, cfg.AllowPrivate = &http.Transport{DisableKeepAlives: true}, true
		c, err := agent.New(cfg)
		require.NoError(t, err)
		f, err := c.Fetch(t.Context(), agent.FetchParams{URL: s.URL + path})
		require.Error(t, err, path)
		if want != nil {
			require.ErrorIs(t, err, want, path)
		}
		require.NotNil(t, f.Receipt, path)
		require.Equal(t, "0x1", f.Receipt.Transaction, path)
	}
}

func TestOnPaidIsCalledOncePerConfirmedPayment(t *testing.T) {
	t.Parallel()
	s := confirming(t)
	cfg := withWallet(t)
	var mu sync.Mutex
	var calls []string
	cfg.OnPaid = func(_ ctx, url string, r agent.Receipt) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, url+" "+r.Transaction)
	}
	c := client(t, cfg)
	for range 3 { // the same credential three times
		_, err := get(t, c, s.URL+"/failed?token=secret")
		require.NoError(t, err)
	}
	require.Len(t, s.credentials(), 3)
	require.Equal(t, []string{s.URL + "/failed 0x1"}, calls)
	_, err := get(t, c, s.URL+"/trap")
	require.ErrorIs(t, err, agent.ErrPaidBefore)
	require.Equal(t, s.URL+"/trap 0x1", calls[1])
	_, err = get(t, c, s.URL+"/free")
	require.NoError(t, err)
	require.Len(t, calls, 2)
}
