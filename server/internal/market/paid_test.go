package market_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/internal/market"
	"github.com/paywarrant/paywarrant/x402"
)

const seller, otherSeller = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x857b06519E91e3A54538791bDbb0E22373e36b66"

// paidAt reports a payment of an endpoint to the market, with what the payer says of it.
func paidAt(t *testing.T, w *world, d x402.Declaration, url, payTo string) (problem string) {
	t.Helper()
	d.OutputSchema = map[string]any{"type": "object"}
	e, err := d.Extension()
	require.NoError(t, err)
	return w.Paid(x402.Resource{URL: url, Description: "Buy this"}, x402.Requirements{
		Scheme: x402.SchemeExact, Network: "eip155:84532", Amount: "10000", Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", PayTo: payTo, MaxTimeoutSeconds: 60,
	}, e)
}

// TestPayerWritesNoWordsOfWhatIsNotAsked: an endpoint that is not read by GET is listed as its
// payment declares it, without a description.
func TestPayerWritesNoWordsOfWhatIsNotAsked(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.Start(t.Context())
	require.Empty(t, paidAt(t, w, x402.Declaration{Method: http.MethodPost, BodyType: "json"}, "https://api.example.com/sell", seller))
	var found []client.MarketEntry
	require.Eventually(t, func() bool { found = w.find(t, client.MarketParams{}); return len(found) == 1 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, []any{"POST", "", false}, []any{found[0].Method, found[0].Description, found[0].Verified})
}

// TestSlowEndpointHoldsUpNoOther: others are listed while it is asked.
func TestSlowEndpointHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 8), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	w := setupPatient(t, time.Minute)
	require.Empty(t, paidAt(t, w, x402.Declaration{}, slow.URL+"/slow", otherSeller))
	require.Empty(t, paidAt(t, w, x402.Declaration{Method: http.MethodPost, BodyType: "json"}, "https://api.example.com/sell", seller))
	w.Start(t.Context())
	<-asked
	require.Eventually(t, func() bool { return len(w.find(t, client.MarketParams{})) == 1 }, 30*time.Second, 10*time.Millisecond)
}

// TestWalletFillsOnlyItsShareOfTheQueue: endpoints of other wallets still wait to be listed.
func TestWalletFillsOnlyItsShareOfTheQueue(t *testing.T) {
	t.Parallel()
	w := setup(t) // not started: what is paid waits
	post := x402.Declaration{Method: http.MethodPost, BodyType: "json"}
	for n := range market.MaxPaidOfOne {
		require.Empty(t, paidAt(t, w, post, fmt.Sprint("https://api.example.com/", n), seller))
	}
	require.Contains(t, paidAt(t, w, post, "https://api.example.com/another", seller), "too many")
	require.Empty(t, paidAt(t, w, post, "https://api.example.com/1", seller)) // waits already
	require.Empty(t, paidAt(t, w, post, "https://api.example.com/another", otherSeller))
}

func TestRoutesFitTheirTemplates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, template, want string
		fits                 bool
	}{
		{"/a/b", "", "/a/b", true},
		{"/users/7", "/users/:id", "/users/{id}", true},
		{"/users/a%2Fb/x", "/users/:id/:what", "/users/{id}/{what}", true},
		{"/users/7", "/:user/7", "/users/7", true},
		{"/users/7", "/:user/:id", "/users/7", true},
		{"/users/7", "/users/:id/x", "", false},
		{"/users/7", "/other/:id", "", false},
		{"/users/7", "/users/:", "", false},
		{"/users/7", "/users/:a{b", "", false},
		{"/users/7", "users/:id", "", false},
	} {
		got, fits := market.Route(test.path, test.template)
		require.Equal(t, []any{test.want, test.fits}, []any{got, fits}, test)
	}
}
