package mcptools_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestToolsSendNoTokenAndNoHeadersOfAModel: the access token stays between the agent and the
// service, and no argument of a tool becomes a header of a request.
func TestToolsSendNoTokenAndNoHeadersOfAModel(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []http.Header
	seller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Clone())
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(seller.Close)
	w := setup(t, nil)
	w.call(t, "delegare_fetch", map[string]any{"url": seller.URL}).ok(t)
	for _, name := range []string{"headers", "authorization", "header"} {
		got, err := w.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "delegare_fetch", Arguments: map[string]any{
			"url": seller.URL, name: map[string]any{"X-Injected": "1", "Authorization": "Bearer " + w.token},
		}})
		require.True(t, err != nil || got.IsError, "%s is not an argument", name)
	}
	w.call(t, "delegare_fetch", map[string]any{"url": seller.URL + "/\r\nX-Injected: 1"}) // whatever it answers
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, seen)
	for _, h := range seen {
		require.Empty(t, h.Get("Authorization"))
		require.Empty(t, h.Get("X-Injected"))
		for _, values := range h {
			for _, v := range values {
				require.NotContains(t, v, w.token)
			}
		}
	}
}

// TestAPriceAboveTheArgumentIsNotPaid, though the mandate allows it: maxPriceCents holds for the
// price that the seller asks at last.
func TestAPriceAboveTheArgumentIsNotPaid(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	got := w.call(t, "delegare_fetch", map[string]any{"url": w.shop, "maxPriceCents": 74})
	require.True(t, got.IsError, got.text)
	require.Zero(t, w.spent(t))
	require.Zero(t, w.served.Load())
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop, "maxPriceCents": 75}).ok(t)
	require.Equal(t, int64(75), w.spent(t))
}
