package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// limited has low limits: a second's worth is used up at once.
func limited(o servertest.Options) *servertest.Options {
	former := o.Configure
	o.Configure = func(cfg *server.Config) {
		cfg.RequestsPerSecond, cfg.AnonymousPerSecond = 20, 20
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		if former != nil {
			former(cfg)
		}
	}
	return &o
}

// flood sends a request over and over: until it is limited, and then while something
// else is done. It returns how many of its answers had each status.
func flood(send func(i int) int, meanwhile func()) map[int]int {
	statuses, stop, enough := map[int]int{}, make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; ; i += 4 {
				status := send(i)
				mu.Lock()
				if statuses[status]++; status == http.StatusTooManyRequests && statuses[status] == 100 {
					close(enough)
				}
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	<-enough
	meanwhile()
	close(stop)
	all.Wait()
	return statuses
}

func settlement(m, key string) client.PaywallSettlementParams {
	return client.PaywallSettlementParams{
		Mandate: m, Price: "0.50", PayTo: wallet, Network: "eip155:84532", Resource: "https://api.example.com/report", IdempotencyKey: key,
	}
}

// TestStrangersDoNotUseUpAPayeesSettlements: worthless mandates that name a payee, from
// the very address of its gate, are limited and hold up no settlement of a good one.
func TestStrangersDoNotUseUpAPayeesSettlements(t *testing.T) {
	t.Parallel()
	c := setup(t, limited(servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}}))
	nobody := caller{Server: c.Server}
	mandates := []string{c.mandate(t, 500, 5000), c.mandate(t, 500, 5000)}
	junk := settleBody(t, settlement("dtok_x", "junk"))
	statuses := flood(func(int) int { return nobody.do(t, "POST", "/v1/paywall/settle", junk).Status }, func() {
		for i := range 20 {
			paid := nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, settlement(mandates[i%2], fmt.Sprint("good", i)))).ok(t)
			require.Equal(t, true, paid.Body["success"])
		}
	})
	require.Positive(t, statuses[http.StatusBadRequest])
	require.Zero(t, statuses[http.StatusOK])
}

// TestSpellingsOfAWalletAreOneLimit: neither a held mandate nor a worthless one has more
// than its limit by writing the payee in other cases.
func TestSpellingsOfAWalletAreOneLimit(t *testing.T) {
	t.Parallel()
	c := setup(t, limited(servertest.Options{
		Merchant:  server.MerchantParams{Name: "Weather & Co", PayTo: wallet},
		Configure: func(cfg *server.Config) { cfg.RequestsPerSecond, cfg.AnonymousPerSecond = 1, 1 }, // few, on slow machines too
	}))
	nobody, held := caller{Server: c.Server}, c.mandate(t, 500, 5000)
	for name, m := range map[string]string{"held": held, "worthless": "dtok_x"} {
		statuses := map[int]int{}
		for i := range 200 {
			p := settlement(m, fmt.Sprint(name, i))
			p.PayTo, p.Price = spelling(wallet, i), "9.99" // over the limit of a payment: refused without a rail
			statuses[nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).Status]++
		}
		require.Greater(t, statuses[http.StatusTooManyRequests], 50, "%s: %v", name, statuses)
	}
}

// spelling writes the i-th mixture of cases.
func spelling(address string, i int) string {
	b := []byte(strings.ToLower(address))
	for at := 2; at < len(b); at++ {
		if b[at] >= 'a' {
			if i&1 == 1 {
				b[at] -= 'a' - 'A'
			}
			i >>= 1
		}
	}
	return string(b)
}

// TestStrangersDoNotUseUpAMerchantsReceipts: checks without credentials count against
// their address, not against the payee that they name.
func TestStrangersDoNotUseUpAMerchantsReceipts(t *testing.T) {
	t.Parallel()
	c := setup(t, limited(servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}}))
	nobody := caller{Server: c.Server}
	ask := func(redeem bool) string {
		text, err := json.Marshal(client.ReceiptParams{
			Receipt: "eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MDEiLCJuZXR3b3JrIjoiY2FyZCJ9", Resource: "https://api.example.com/report", PayTo: wallet, Amount: "0.50", Redeem: redeem,
		})
		require.NoError(t, err)
		return string(text)
	}
	flood(func(int) int { return nobody.do(t, "POST", "/v1/x402/verify-receipt", ask(false)).Status }, func() {
		for range 10 {
			c.do(t, "POST", "/v1/x402/verify-receipt", ask(true)).ok(t)
		}
	})
}

// TestWrongCredentialsCountAgainstTheAddress: and not against the merchant they name.
func TestWrongCredentialsCountAgainstTheAddress(t *testing.T) {
	t.Parallel()
	c := setup(t, limited(servertest.Options{}))
	wrong := c
	wrong.merchant.APIKey = "sk_test_wrong"
	statuses := flood(func(int) int { return wrong.do(t, "GET", "/v1/merchants/stats", "").Status }, func() {
		for range 10 {
			c.do(t, "GET", "/v1/merchants/stats", "").ok(t)
		}
	})
	require.Positive(t, statuses[http.StatusUnauthorized])
}

// TestAddressBehindAProxyHasALimitOfItsOwn: one client's junk does not count against others,
// and a made-up hop is not another client.
func TestAddressBehindAProxyHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	slowly := func(cfg *server.Config) { cfg.AnonymousPerSecond = 1 } // so that a slow machine is refused too
	c := setup(t, limited(servertest.Options{Configure: slowly}))
	nobody := caller{Server: c.Server}
	from := func(hops string) int { return nobody.do(t, "GET", "/setup/sess_x", "", "X-Forwarded-For", hops).Status }
	statuses := map[int]int{}
	for i := range 100 {
		statuses[from(fmt.Sprintf("192.0.2.%d, 198.51.100.7", i))]++
	}
	require.Greater(t, statuses[http.StatusTooManyRequests], 20, "made-up hops are no other address")
	require.Equal(t, http.StatusNotFound, from("198.51.100.8"))
	clear(statuses)
	for i := range 100 {
		statuses[from(fmt.Sprintf("2001:db8::%x", i))]++
	}
	require.Greater(t, statuses[http.StatusTooManyRequests], 20, "addresses of one /64 are one client")
}

// TestStrangersDoNotUseUpWhatIsAPayersOrPayees: at the facilitator, with signatures that
// are none and with keys that were made up.
func TestStrangersDoNotUseUpWhatIsAPayersOrPayees(t *testing.T) {
	t.Parallel()
	f := facilitate(t, func(cfg *server.Config) { cfg.RequestsPerSecond = 20 })
	unsigned := f.requestOf(1, f.sign(t, f.authorize(10_000)), "10000")
	unsigned["paymentPayload"].(map[string]any)["payload"].(map[string]any)["signature"] = "0x" + strings.Repeat("00", 65)
	statuses := flood(func(int) int { return f.ask(t, "verify", unsigned).Status }, func() {
		for range 10 {
			settled := f.ask(t, "settle", f.requestOf(1, f.sign(t, f.authorize(10_000)), "10000"))
			require.Equal(t, http.StatusOK, settled.Status, settled.Text)
			require.Equal(t, true, settled.Body["success"], settled.Text)
		}
	})
	require.Positive(t, statuses[http.StatusOK])

	made := f
	made.payer = devchain.Payee(7) // has nothing
	statuses = flood(func(int) int {
		return f.ask(t, "verify", f.requestOf(2, made.sign(t, made.authorize(10_000)), "10000")).Status
	}, func() {
		for range 10 {
			verified := f.ask(t, "verify", f.requestOf(2, f.sign(t, f.authorize(10_000)), "10000"))
			require.Equal(t, http.StatusOK, verified.Status, verified.Text)
		}
	})
	require.Positive(t, statuses[http.StatusOK])
}

// TestPagesAreServedUnderTheirOwnHostAlone: a site whose name resolves to the service
// reads nothing (DNS rebinding).
func TestPagesAreServedUnderTheirOwnHostAlone(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	token := c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":500,"maxMonthlySpendCents":1000}`).ok(t).str("sessionToken")
	for host, want := range map[string]int{
		"": 200, "localhost": 200, "[::1]:80": 200, "127.0.0.1": 200, "evil.example": 421, "127.0.0.1.evil.example:80": 421, "192.0.2.1": 421, "%": 421,
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", c.URL+"/setup/"+token, http.NoBody)
		require.NoError(t, err)
		r.Host = host
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		if host != "%" { // net/http refuses it
			require.Equal(t, want, resp.StatusCode, host)
		}
	}
}

// TestSandboxClockIsBounded: however often it is moved, it stays before its end, and
// the service lives.
func TestSandboxClockIsBounded(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 1000)
	refused := 0
	for range 40 {
		if a := c.do(t, "POST", "/v1/test_helpers/clock/advance", `{"seconds":316223999}`); a.Status == http.StatusBadRequest {
			require.Equal(t, "seconds", a.str("param"))
			refused++
		}
	}
	require.Positive(t, refused)
	require.Less(t, c.Clock.Now().Year(), 2100)
	c.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").ok(t)
	c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":1,"maxMonthlySpendCents":1}`).ok(t)
}

// TestTestHelpersOfAHostedSandboxNeedAKey: and a loopback service takes no other host's
// name for its own.
func TestTestHelpersOfAHostedSandboxNeedAKey(t *testing.T) {
	t.Parallel()
	const path, key = "/v1/test_helpers/merchants", "0123456789abcdef-helper"
	hosted := func(cfg *server.Config) { cfg.BaseURL = "https://sandbox.example" }
	closed := setup(t, &servertest.Options{Configure: hosted})
	closed.do(t, "POST", path, `{}`).refused(t, 401, "unauthorized")
	keyed := setup(t, &servertest.Options{Configure: func(cfg *server.Config) {
		hosted(cfg)
		cfg.TestHelperKey = key
	}})
	keyed.do(t, "POST", path, `{}`).refused(t, 401, "unauthorized")
	keyed.do(t, "POST", path, `{}`, "X-Service-Test-Helper-Key", key+"x").refused(t, 401, "unauthorized")
	require.NotEmpty(t, keyed.do(t, "POST", path, `{}`, "X-Service-Test-Helper-Key", key).ok(t).str("apiKey"))
	byClient, err := client.New(client.Config{BaseURL: keyed.URL, MerchantID: keyed.merchant.ID, APIKey: keyed.merchant.APIKey, TestHelperKey: key})
	require.NoError(t, err)
	_, err = byClient.CreateTestMerchant(t.Context(), "Acme")
	require.NoError(t, err)

	local := setup(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), "POST", local.URL+path, http.NoBody)
	require.NoError(t, err)
	r.Host = "rebound.example"
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
}

// TestWebhookTestsAndRedeliveriesHaveTheirOwnLimits: they have the service send requests
// to others, and use up nothing of the merchant's other calls.
func TestWebhookTestsAndRedeliveriesHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.RequestsPerSecond = 10 }})
	endpoint := c.do(t, "POST", "/v1/webhook_endpoints", `{"url":"http://127.0.0.1:1/"}`).ok(t).str("id")
	c.mandate(t, 500, 1000)
	event := c.do(t, "GET", "/v1/events", "").ok(t).Body["data"].([]any)[0].(map[string]any)["id"].(string)
	for path, most := range map[string]int{"/v1/webhook_endpoints/" + endpoint + "/test": 300, "/v1/events/" + event + "/redeliver": 1000} {
		limited := false
		for range most { // on a slow machine more than the burst, since the bucket refills
			if limited = c.do(t, "POST", path, "").Status == http.StatusTooManyRequests; limited {
				break
			}
		}
		require.True(t, limited, path)
	}
	c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":1,"maxMonthlySpendCents":1}`).ok(t)
}

// TestKeptPresentationDoesNotUseUpItsMandatesLimit: a merchant that was paid keeps the
// presentation. Sending it repeatedly does not delay new payments of the mandate.
func TestKeptPresentationDoesNotUseUpItsMandatesLimit(t *testing.T) {
	t.Parallel()
	c := setup(t, limited(servertest.Options{Merchant: server.MerchantParams{Name: "Agent", PayTo: agentsWallet}}))
	shop, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Shop", PayTo: shopWallet})
	require.NoError(t, err)
	m := market{c, shop}
	token, p := m.mandateFor(t, "*"), purchase()
	kept := m.present(t, token, p)
	m.settle(t, kept, p, "first").ok(t)
	m.Clock.Advance(24 * time.Hour)
	statuses := flood(func(i int) int { return m.settle(t, kept, p, fmt.Sprint("kept", i)).Status }, func() {
		for i := range 8 {
			fresh := purchase()
			fresh.Nonce = fmt.Sprint("another-challenge", i)
			m.settle(t, m.present(t, token, fresh), fresh, fmt.Sprint("good", i)).ok(t)
		}
	})
	require.Zero(t, statuses[http.StatusOK])
	require.Positive(t, statuses[http.StatusTooManyRequests])
}
