package interop_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// TestOfficialServersServeAPaymentOnce: 50 requests at once with one signed payment,
// spread over two routes of one price, are served once, however long the handler
// takes, because our facilitator settles a payment once.
func TestOfficialServersServeAPaymentOnce(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for _, server := range []string{"@x402/express", "@x402/hono", "x402-express"} {
		for _, delay := range []time.Duration{0, 3 * time.Second} {
			t.Run(fmt.Sprintf("%s with a handler of %s", server, delay), func(t *testing.T) {
				t.Parallel()
				srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
				var shop struct{ URL string }
				project.Start(t, "official.mjs", map[string]any{
					"server": server, "facilitator": srv.URL + "/v1/x402", "payTo": devchain.Payee(0).Address.Hex(), "delayMs": delay.Milliseconds(),
				}, &shop)
				header, value := credential(t, shop.URL+"/weather")
				require.EqualValues(t, 1, servedOf(t, 50, header, value, shop.URL+"/weather", shop.URL+"/news"))
				require.EqualValues(t, 0, servedOf(t, 2, header, value, shop.URL+"/weather", shop.URL+"/news"), "later")
			})
		}
	}
}

// servedOf sends requests at once, to the addresses in turn, and counts those that
// are answered with content.
func servedOf(t *testing.T, requests int, header, value string, urls ...string) int64 {
	t.Helper()
	var served atomic.Int64
	var callers sync.WaitGroup
	for i := range requests {
		callers.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, urls[i%len(urls)], http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set(header, value)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				served.Add(1)
			}
		})
	}
	callers.Wait()
	return served.Load()
}

// credential is a signed payment of what a route asks, as its protocol's header.
func credential(t *testing.T, url string) (header, value string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	wallet := devrail.Wallet(devchain.Wallets()[0])
	asset, ok := wallet.Asset(devchain.ChainID)
	require.True(t, ok)
	a := evm.TransferAuthorization{
		From: devchain.Wallets()[0].Address, To: devchain.Payee(0).Address, Value: evm.Uint64(10_000),
		ValidBefore: evm.Uint64(uint64(time.Now().Add(5 * time.Minute).Unix())), Nonce: [32]byte{1},
	}
	signature, err := wallet.SignTransfer(t.Context(), devchain.ChainID, asset, a.Wire())
	require.NoError(t, err)
	exact := x402.Exact{Signature: signature, Authorization: a.Wire()}
	offered := resp.Header.Get(x402.HeaderPaymentRequired)
	payload := map[string]any{"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": exact}
	header = x402.HeaderPayment
	if offered != "" {
		two, err := x402.DecodePaymentRequired(offered)
		require.NoError(t, err)
		payload = map[string]any{"x402Version": 2, "resource": two.Resource, "accepted": two.Accepts[0], "payload": exact}
		header = x402.HeaderPaymentSignature
	}
	value, err = x402.EncodeHeader(payload)
	require.NoError(t, err)
	return header, value
}
