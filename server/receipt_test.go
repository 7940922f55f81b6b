package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// bought pays for /weather by one way, and gives the receipt that came with it.
func (c caller) bought(t *testing.T, way agent.Method) client.ReceiptParams {
	t.Helper()
	api := httptest.NewUnstartedServer(nil)
	p := client.ReceiptParams{
		Resource: "http://" + api.Listener.Addr().String() + "/weather", PayTo: c.Merchant.PayTo, Amount: "0.01",
	}
	gate, err := paywall.New(paywall.Config{Price: p.Amount, PayTo: p.PayTo, APIURL: c.URL, TestMode: true, Resource: p.Resource, Clock: c.Clock.Now})
	require.NoError(t, err)
	api.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
	api.Start()
	t.Cleanup(api.Close)
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Wallets()[2].Key()})
	require.NoError(t, err)
	a, err := agent.New(agent.Config{
		MaxPriceMicros: 10_000, Wallet: wallet, Service: c.Client(), Mandate: c.mandate(t, 500, 5000, "wallet"), Methods: []agent.Method{way}, Clock: c.Clock.Now,
		AllowPrivate: true,
	})
	require.NoError(t, err)
	defer a.CloseIdleConnections()
	got, err := a.Fetch(t.Context(), agent.FetchParams{URL: p.Resource})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, got.Status, string(got.Content))
	p.Receipt = got.Receipt.Header
	return p
}

func (c caller) verdict(t *testing.T, p client.ReceiptParams) client.ReceiptVerdict {
	t.Helper()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var v client.ReceiptVerdict
	require.NoError(t, json.Unmarshal([]byte(c.do(t, "POST", "/v1/x402/verify-receipt", string(text)).ok(t).Text), &v))
	return v
}

// TestReceiptIsGoodForWhatItWasPaidFor: and for nothing else, and not twice.
func TestReceiptIsGoodForWhatItWasPaidFor(t *testing.T) {
	t.Parallel()
	for _, way := range []agent.Method{agent.Mandate, agent.X402, agent.X402V1} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			c := onChain(t)
			nobody := caller{Server: c.Server}
			p := c.bought(t, way)
			good := nobody.verdict(t, p)
			require.True(t, good.Valid, good.Reason)
			require.Regexp(t, "^0x[0-9a-f]{64}$", good.Transaction)
			require.Regexp(t, "^txn_", good.TransactionID)
			for reason, change := range map[string]func(p *client.ReceiptParams){
				"resource_mismatch": func(p *client.ReceiptParams) { p.Resource += "/else" },
				"amount_mismatch":   func(p *client.ReceiptParams) { p.Amount = "0.02" },
				"payer_mismatch": func(p *client.ReceiptParams) {
					p.Receipt = forged(t, p.Receipt, func(s *x402.Settlement) { s.Payer = shopWallet })
				},
				"network_mismatch": func(p *client.ReceiptParams) {
					p.Receipt = forged(t, p.Receipt, func(s *x402.Settlement) { s.Network = "card" })
				},
				"not_found": func(p *client.ReceiptParams) {
					p.Receipt = forged(t, p.Receipt, func(s *x402.Settlement) { s.Transaction = "0x" + good.Transaction[3:] + "0" })
				},
			} {
				wrong := p
				change(&wrong)
				require.Equal(t, client.ReceiptVerdict{Reason: reason}, nobody.verdict(t, wrong), reason)
			}
			elsewhere := p
			elsewhere.PayTo = shopWallet
			require.False(t, nobody.verdict(t, elsewhere).Valid)

			p.Redeem = true
			require.True(t, c.verdict(t, p).Valid)
			require.Equal(t, "already_redeemed", c.verdict(t, p).Reason, "it opens nothing twice")
			p.Redeem = false
			require.True(t, nobody.verdict(t, p).Valid, "it was paid, as before")
			c.Clock.Advance(25 * time.Hour)
			require.Equal(t, "expired", nobody.verdict(t, p).Reason)
		})
	}
}

func forged(t *testing.T, receipt string, change func(s *x402.Settlement)) string {
	t.Helper()
	s, err := x402.DecodeSettlement(receipt)
	require.NoError(t, err)
	change(&s)
	return s.Header()
}

func TestReceiptsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	p := client.ReceiptParams{
		Receipt: x402.Settlement{Success: true, Transaction: "pay_1", Network: "card"}.Header(), Resource: "https://api.example.com/report",
		PayTo: c.Merchant.PayTo, Amount: "0.50",
	}
	require.Equal(t, "not_found", c.verdict(t, p).Reason)
	v, err := c.Client().VerifyReceipt(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, "not_found", v.Reason)
	for param, change := range map[string]func(p *client.ReceiptParams){
		"receipt":  func(p *client.ReceiptParams) { p.Receipt = "!" },
		"resource": func(p *client.ReceiptParams) { p.Resource = "/report" },
		"payTo":    func(p *client.ReceiptParams) { p.PayTo = "0x1" },
		"amount":   func(p *client.ReceiptParams) { p.Amount = "-1" },
	} {
		wrong := p
		change(&wrong)
		text, err := json.Marshal(wrong)
		require.NoError(t, err)
		require.Equal(t, param, c.do(t, "POST", "/v1/x402/verify-receipt", string(text)).refused(t, 400, "validation_error").str("param"))
	}
	p.Redeem = true
	text, err := json.Marshal(p)
	require.NoError(t, err)
	caller{Server: c.Server}.do(t, "POST", "/v1/x402/verify-receipt", string(text)).refused(t, 401, "unauthorized")
	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other", PayTo: shopWallet})
	require.NoError(t, err)
	caller{Server: c.Server, merchant: other}.do(t, "POST", "/v1/x402/verify-receipt", string(text)).refused(t, 400, "validation_error")
}

// TestReceiptIsRedeemedOncePerTransaction: other spellings of the resource are the
// same payment, and other resources are none.
func TestReceiptIsRedeemedOncePerTransaction(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 500, 5000, "wallet")
	const resource = "https://api.shop.example/report?id=1"
	body := fmt.Sprintf(`{"mandate":%q,"price":"0.50","payTo":%q,"network":"eip155:84532","resource":%q,"idempotencyKey":"k"}`, m, c.Merchant.PayTo, resource)
	paid := c.do(t, "POST", "/v1/paywall/settle", body).ok(t)
	p := client.ReceiptParams{
		Receipt:  x402.Settlement{Success: true, Transaction: paid.str("transaction"), Network: paid.str("network"), Payer: paid.str("payer")}.Header(),
		Resource: resource, PayTo: c.Merchant.PayTo, Amount: "0.50", Redeem: true,
	}
	require.True(t, c.verdict(t, p).Valid)
	for _, same := range []string{
		resource, "HTTPS://api.shop.example/report?id=1", "https://API.shop.example:443/report?id=1", "https://x@api.shop.example/report?id=1",
		resource + "#f", "https://api.shop.example/%72eport?id=1",
	} {
		p.Resource = same
		require.Equal(t, "already_redeemed", c.verdict(t, p).Reason, same)
	}
	for _, other := range []string{
		"https://api.shop.example/report?id=2", "https://api.shop.example/report", "http://api.shop.example/report?id=1",
		"https://api.shop.example/report%2F?id=1", "https://api.shop.example/report?id=%31",
	} {
		p.Resource = other
		require.Equal(t, "resource_mismatch", c.verdict(t, p).Reason, other)
	}
	p.Resource = resource
	p.Receipt = x402.Settlement{Success: true, Transaction: paid.str("transactionId"), Network: paid.str("network")}.Header()
	require.Equal(t, "already_redeemed", c.verdict(t, p).Reason, "by its transaction id")
}

// TestResourceWithBytesOutsideOfTextHasAReceipt: what is percent-encoded stays so.
func TestResourceWithBytesOutsideOfTextHasAReceipt(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open, Merchant: server.MerchantParams{Name: "Acme", PayTo: shopWallet}})
			m := c.mandate(t, 500, 5000)
			for i, path := range []string{"a%ffb", "%00", "%c0%af", "%0d%0a%1b"} {
				body := fmt.Sprintf(`{"mandate":%q,"price":"0.50","payTo":%q,"network":"card","resource":%q,"idempotencyKey":"%d"}`,
					m, shopWallet, "https://api.example.com/"+path, i)
				paid := c.do(t, "POST", "/v1/paywall/settle", body).ok(t)
				require.Equal(t, true, paid.Body["success"], paid.Text)
				receipt := c.do(t, "GET", "/v1/payments/"+paid.str("transactionId")+"/receipt", "").ok(t)
				require.Equal(t, "Access to api.example.com/"+path, receipt.str("description"))
			}
			c.sound(t, 4)
		})
	}
}
