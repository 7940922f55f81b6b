package server_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// catalog returns a page of the facilitator's catalog.
func (f facilitated) catalog(t *testing.T, query string) (page x402.DiscoveryPage) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+"/v1/x402/discovery/resources"+query, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&page))
	return page
}

// TestAPaidResourceIsListed: the first payment by x402 version 2 lists a route with its
// description, its template and its price; the next one counts.
func TestAPaidResourceIsListed(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	api := httptest.NewUnstartedServer(nil)
	origin := "http://" + api.Listener.Addr().String()
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: f.Merchant.PayTo, APIURL: f.URL, TestMode: true, Clock: f.Clock.Now, Resource: origin + "/weather/{town}",
		Discovery: &paywall.Discovery{
			Description: "Weather of a town", Output: paywall.Output{Schema: map[string]any{"type": "object", "properties": map[string]any{"degrees": map[string]any{"type": "number"}}}},
		},
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("GET /weather/{town}", gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })))
	api.Config.Handler = mux
	api.Start()
	t.Cleanup(api.Close)
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Wallets()[0].Key()})
	require.NoError(t, err)
	a, err := agent.New(agent.Config{MaxPriceMicros: 10_000, Wallet: wallet, Methods: []agent.Method{agent.X402}, AllowPrivate: true})
	require.NoError(t, err)
	t.Cleanup(a.CloseIdleConnections)
	require.Empty(t, f.catalog(t, "").Items)
	for n, town := range []string{"oslo", "rome"} {
		got, err := a.Fetch(t.Context(), agent.FetchParams{URL: origin + "/weather/" + town})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, got.Status, string(got.Content))
		require.Eventually(t, func() bool {
			found, err := f.Client().Market(t.Context(), client.MarketParams{Query: "weather"})
			require.NoError(t, err)
			return len(found.Data) == 1 && found.Data[0].Settlements == int64(n+1)
		}, time.Minute, 50*time.Millisecond)
	}
	found, err := f.Client().Market(t.Context(), client.MarketParams{})
	require.NoError(t, err)
	require.Len(t, found.Data, 1)
	e := found.Data[0]
	require.Equal(t, []any{"GET", origin + "/weather/{town}", true, "Weather of a town", int64(10_000)}, []any{e.Method, e.URL, e.Verified, e.Description, *e.MaxPriceMicros})
	require.Equal(t, []string{"facilitator"}, e.Sources)
	require.Contains(t, string(e.OutputSchema), "degrees")

	page := f.catalog(t, "?type=http&payTo="+f.Merchant.PayTo)
	require.Equal(t, x402.Pagination{Limit: 20, Total: 1}, page.Pagination)
	item := page.Items[0]
	require.Equal(t, []any{origin + "/weather/:town", "http", 2}, []any{item.Resource, item.Type, item.X402Version})
	require.Equal(t, "10000", item.Accepts[0].Amount)
	require.Equal(t, "/weather/:town", item.Extensions["bazaar"].RouteTemplate)
	require.NoError(t, item.Extensions["bazaar"].Validate())
	require.Empty(t, f.catalog(t, "?type=mcp").Items)
	require.Empty(t, f.catalog(t, "?payTo="+devchain.Payee(7).Address.Hex()).Items)
	require.Empty(t, f.catalog(t, "?offset=1").Items)
}

// declare returns the body of a settlement whose payment declares a resource.
func (c *chainside) declare(t *testing.T, url, template string, output any) *attempt {
	t.Helper()
	e, err := x402.Declaration{OutputSchema: map[string]any{"type": "object"}}.Extension()
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(e.Schema, &schema))
	schema["properties"].(map[string]any)["output"].(map[string]any)["properties"].(map[string]any)["example"] = output
	return c.attempt(t, x402.Version2, c.payerAccount(), attack{body: func(body map[string]any) {
		payload := body["paymentPayload"].(map[string]any)
		payload["resource"] = map[string]any{"url": url, "description": "Mine"}
		payload["extensions"] = map[string]any{"bazaar": map[string]any{"info": e.Info, "schema": schema, "routeTemplate": template}}
	}})
}

// TestADeclarationIsRefusedAndThePaymentIsNot: the reason is in EXTENSION-RESPONSES.
func TestADeclarationIsRefusedAndThePaymentIsNot(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	schema := map[string]any{"type": "object"}
	for name, test := range map[string]struct {
		url, template string
		output        any
		reason        string
	}{
		"no schema":        {"https://api.example.com/a", "", nil, "output.schema"},
		"an empty schema":  {"https://api.example.com/a", "", map[string]any{}, "output.schema"},
		"no URL":           {"weather", "", schema, "resource.url"},
		"a long URL":       {"https://api.example.com/" + strings.Repeat("a", 1100), "", schema, "resource.url"},
		"another template": {"https://api.example.com/a", "/b/:id", schema, "routeTemplate"},
		"a wild template":  {"https://api.example.com/a", "/:../", schema, "routeTemplate"},
	} {
		settled := c.ask(t, "settle", c.declare(t, test.url, test.template, test.output).body)
		require.Equal(t, true, settled.Body["success"], settled.Text)
		status, reason := extensionOf(t, settled)
		require.Equal(t, "rejected", status, name)
		require.Contains(t, reason, test.reason, name)
	}
	plain := c.ask(t, "settle", c.attempt(t, x402.Version2, c.payerAccount(), attack{}).body)
	require.Empty(t, plain.Header.Get("EXTENSION-RESPONSES"))
	require.Empty(t, c.catalog(t, "").Items)
}

// TestAStrangerDoesNotSpeakForAServer: a payment to a stranger's own wallet that names another's
// endpoint lists nothing, because the endpoint asks to be paid elsewhere.
func TestAStrangerDoesNotSpeakForAServer(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	asked := make(chan struct{}, 1)
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		required, err := x402.EncodeHeader(x402.PaymentRequired{X402Version: x402.Version2, Resource: x402.Resource{URL: sold}, Accepts: []x402.Requirements{{
			Scheme: x402.SchemeExact, Network: c.Chain.Network, Amount: "1", Asset: c.asset.Address, PayTo: devchain.Payee(9).Address.Hex(), MaxTimeoutSeconds: 60,
		}}})
		if err == nil {
			w.Header().Set(x402.HeaderPaymentRequired, required)
		}
		w.WriteHeader(http.StatusPaymentRequired)
		asked <- struct{}{}
	}))
	t.Cleanup(victim.Close)
	settled := c.ask(t, "settle", c.declare(t, victim.URL+"/a?x=1", "", map[string]any{"type": "object"}).body)
	require.Equal(t, true, settled.Body["success"], settled.Text)
	status, _ := extensionOf(t, settled)
	require.Equal(t, "processing", status)
	<-asked
	time.Sleep(100 * time.Millisecond) // it would be stored at once
	require.Empty(t, c.catalog(t, "").Items)
	found, err := c.Client().Market(t.Context(), client.MarketParams{})
	require.NoError(t, err)
	require.Empty(t, found.Data)
}

// TestAPayerDoesNotSpeakForASeller: an endpoint that was paid is listed with its own words, and
// only if it asks for what was paid.
func TestAPayerDoesNotSpeakForASeller(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	e, err := x402.Declaration{OutputSchema: map[string]any{"type": "object", "title": "Of the seller"}}.Extension()
	require.NoError(t, err)
	asks := make(chan x402.Requirements, 1)
	asked := make(chan struct{}, 1)
	seller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		required, err := x402.EncodeHeader(x402.PaymentRequired{
			X402Version: x402.Version2, Resource: x402.Resource{URL: sold, Description: "The seller's"},
			Accepts: []x402.Requirements{<-asks}, Extensions: map[string]x402.Extension{x402.ExtensionBazaar: e},
		})
		if err == nil {
			w.Header().Set(x402.HeaderPaymentRequired, required)
		}
		w.WriteHeader(http.StatusPaymentRequired)
		asked <- struct{}{}
	}))
	t.Cleanup(seller.Close)
	pay := func(path, amount string) {
		body := c.declare(t, seller.URL+path, "", map[string]any{"type": "object"}).body
		text, err := json.Marshal(body)
		require.NoError(t, err)
		var sent struct {
			PaymentPayload struct{ Accepted x402.Requirements }
		}
		require.NoError(t, json.Unmarshal(text, &sent))
		if amount != "" {
			sent.PaymentPayload.Accepted.Amount = amount
		}
		asks <- sent.PaymentPayload.Accepted
		settled := c.ask(t, "settle", body)
		require.Equal(t, true, settled.Body["success"], settled.Text)
		<-asked
	}
	pay("/dear", "999999999")
	pay("/a", "")
	var page x402.DiscoveryPage
	require.Eventually(t, func() bool {
		page = c.catalog(t, "")
		return len(page.Items) > 0
	}, time.Minute, 50*time.Millisecond)
	require.Len(t, page.Items, 1)
	require.Equal(t, []any{seller.URL + "/a", "The seller's"}, []any{page.Items[0].Resource, page.Items[0].Description})
	require.Contains(t, string(page.Items[0].Extensions[x402.ExtensionBazaar].Schema), "Of the seller")
}

func extensionOf(t *testing.T, a answer) (status, reason string) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(a.Header.Get("EXTENSION-RESPONSES"))
	require.NoError(t, err)
	var said map[string]struct{ Status, RejectedReason string }
	require.NoError(t, json.Unmarshal(text, &said))
	return said["bazaar"].Status, said["bazaar"].RejectedReason
}
