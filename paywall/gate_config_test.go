package paywall_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

// invalidConfigs are changes that make a valid configuration invalid, and part of the error.
var invalidConfigs = map[string]struct {
	want   string
	change func(*paywall.Config)
}{
	"no price":             {"Price: is required", func(c *paywall.Config) { c.Price = "" }},
	"price of zero":        {"Price", func(c *paywall.Config) { c.Price = "0.000000" }},
	"negative price":       {"Price", func(c *paywall.Config) { c.Price = "-1" }},
	"seven decimals":       {"Price", func(c *paywall.Config) { c.Price = "0.0000001" }},
	"price with a sign":    {"Price", func(c *paywall.Config) { c.Price = "$1" }},
	"no payee":             {"PayTo: is required", func(c *paywall.Config) { c.PayTo = "" }},
	"lower-case payee":     {"PayTo: has no checksum: is it " + payTo, func(c *paywall.Config) { c.PayTo = strings.ToLower(payTo) }},
	"mistyped payee":       {"PayTo", func(c *paywall.Config) { c.PayTo = strings.Replace(payTo, "C", "c", 1) }},
	"short payee":          {"PayTo", func(c *paywall.Config) { c.PayTo = payTo[:41] }},
	"no service":           {"APIURL: is required", func(c *paywall.Config) { c.APIURL = "" }},
	"http service":         {"APIURL: want https", func(c *paywall.Config) { c.APIURL = "http://pay.example" }},
	"http service, live":   {"TestMode", func(c *paywall.Config) { c.APIURL = "http://127.0.0.1:1" }},
	"service with query":   {"APIURL", func(c *paywall.Config) { c.APIURL = "https://pay.example?a=b" }},
	"service with user":    {"APIURL", func(c *paywall.Config) { c.APIURL = "https://a:b@pay.example" }},
	"no resource":          {"Resource: is required", func(c *paywall.Config) { c.Resource = "" }},
	"relative resource":    {"Resource", func(c *paywall.Config) { c.Resource = "/weather" }},
	"http resource":        {"Resource: want https", func(c *paywall.Config) { c.Resource = "http://api.example.com/" }},
	"media type":           {"MimeType", func(c *paywall.Config) { c.MimeType = "json" }},
	"timeout of a half":    {"ChallengeTTL", func(c *paywall.Config) { c.ChallengeTTL = 1500 * time.Millisecond }},
	"negative timeout":     {"ChallengeTTL", func(c *paywall.Config) { c.ChallengeTTL = -time.Second }},
	"timeout of a day":     {"ChallengeTTL", func(c *paywall.Config) { c.ChallengeTTL = 24 * time.Hour }},
	"short secret":         {"Secrets: secret 1", func(c *paywall.Config) { c.Secrets = []string{secret, "short"} }},
	"empty secret":         {"Secrets: secret 0", func(c *paywall.Config) { c.Secrets = []string{""} }},
	"network":              {"Network", func(c *paywall.Config) { c.Network = "solana:1" }},
	"network without USDC": {"Asset: is required", func(c *paywall.Config) { c.Network = "eip155:1" }},
	"asset":                {"Asset.Address: is required", func(c *paywall.Config) { c.Asset = &paywall.Asset{Name: "a", Version: "1"} }},
	"asset without domain": {"Asset: want Name", func(c *paywall.Config) { c.Asset = &paywall.Asset{Address: payTo} }},
	"asset of 2 decimals": {"Asset.Decimals", func(c *paywall.Config) {
		c.Asset = &paywall.Asset{Address: payTo, Name: "a", Version: "1", Decimals: 2}
	}},
	"facilitator":          {"Facilitator", func(c *paywall.Config) { c.Facilitator = "ftp://a" }},
	"external facilitator": {"ExternalFacilitator", func(c *paywall.Config) { c.ExternalFacilitator = "http://a.example" }},
	"external, unsigned": {"ExternalFacilitator: needs FacilitatorKeyID", func(c *paywall.Config) {
		c.ExternalFacilitator = paywall.DefaultExternalFacilitator
	}},
	"external, unknown network": {"ExternalFacilitator: is required", func(c *paywall.Config) {
		_, key, _ := ed25519.GenerateKey(nil)
		c.FacilitatorKeyID, c.FacilitatorSecret = "k", base64.StdEncoding.EncodeToString(key)
		c.Network, c.Asset = "eip155:1", &paywall.Asset{Address: payTo, Name: "a", Version: "1"}
	}},
	"key without secret": {"FacilitatorKeyID", func(c *paywall.Config) { c.FacilitatorKeyID = "k" }},
	"secret without key": {"FacilitatorKeyID", func(c *paywall.Config) { c.FacilitatorSecret = "k" }},
	"origin with a path": {"Origin: want only a scheme and a host", func(c *paywall.Config) { c.Origin = "https://api.example.com/v1" }},
	"http origin":        {"Origin: want https", func(c *paywall.Config) { c.Origin = "http://api.example.com" }},
	"half a wildcard":    {"Resource: ", func(c *paywall.Config) { c.Resource = "https://api.example.com/a{id}" }},
	"wildcard not last":  {"Resource: ", func(c *paywall.Config) { c.Resource = "https://api.example.com/{rest...}/a" }},
	"wildcard twice":     {"Resource: ", func(c *paywall.Config) { c.Resource = "https://api.example.com/{id}/{id}" }},
	"secret of 32 bytes": {"want 64 bytes", func(c *paywall.Config) {
		c.FacilitatorKeyID, c.FacilitatorSecret = "k", base64.StdEncoding.EncodeToString(make([]byte, 32))
	}},
	"half a merchant": {"Merchant", func(c *paywall.Config) { c.Merchant.ID = "mer_1" }},
	"timeout":         {"CallTimeout", func(c *paywall.Config) { c.CallTimeout = -1 }},
	"page and none": {"NoPage", func(c *paywall.Config) {
		c.NoPage, c.Page = true, func(io.Writer, *http.Request, paywall.PageData) error { return nil }
	}},
	"mandate page":        {"MandateURL", func(c *paywall.Config) { c.MandateURL = "javascript:alert(1)" }},
	"bundle of nothing":   {"CreditBundle.ValidateAndDeduct", func(c *paywall.Config) { c.CreditBundle = &paywall.CreditBundle{} }},
	"bundle, no shop":     {"CreditBundle.PurchaseURL", func(c *paywall.Config) { c.CreditBundle = bundle(nil); c.CreditBundle.PurchaseURL = "" }},
	"bundle, no tiers":    {"CreditBundle.Tiers: is empty", func(c *paywall.Config) { c.CreditBundle = bundle(nil); c.CreditBundle.Tiers = nil }},
	"bundle, free tier":   {"CreditBundle.Tiers[0]", func(c *paywall.Config) { c.CreditBundle = bundle(nil); c.CreditBundle.Tiers[0].USDCents = 0 }},
	"bundle, balance":     {"CreditBundle.BalanceURL", func(c *paywall.Config) { c.CreditBundle = bundle(nil); c.CreditBundle.BalanceURL = "x" }},
	"example alone":       {"Discovery.Output.Schema: is required", func(c *paywall.Config) { c.Discovery = discovery(); c.Discovery.Output.Schema = nil }},
	"example of another":  {"Discovery.", func(c *paywall.Config) { c.Discovery = discovery(); c.Discovery.Output.Example = m{"hits": 5} }},
	"input of another":    {"Discovery.", func(c *paywall.Config) { c.Discovery = discovery(); c.Discovery.InputExample = m{"q": 5} }},
	"method without body": {"Discovery.Method", func(c *paywall.Config) { c.Discovery = discovery(); c.Discovery.Method = "GET" }},
}

func TestNewNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	good := paywall.Config{
		Price: "0.01", PayTo: payTo, APIURL: "https://pay.example", Resource: resource, Secrets: []string{secret},
	}
	_, err := paywall.New(good)
	require.NoError(t, err)
	for name, tc := range invalidConfigs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			tc.change(&cfg)
			_, err := paywall.New(cfg)
			require.ErrorContains(t, err, tc.want)
			require.True(t, strings.HasPrefix(err.Error(), "paywall: "), err)
		})
	}
}

func TestTestModeTakesLoopbackAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://127.0.0.1:8080", "http://localhost:8080/", "http://[::1]:8080"} {
		_, err := paywall.New(paywall.Config{Price: "1", PayTo: payTo, APIURL: address, Resource: address + "/weather", TestMode: true})
		require.NoError(t, err, address)
	}
}

func facilitatorSecret(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(key)
}

func TestSecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	cfg := paywall.Config{
		Price: "0.01", PayTo: payTo, APIURL: "https://pay.example", Resource: resource, Secrets: []string{secret},
		FacilitatorKeyID: "k", FacilitatorSecret: base64.StdEncoding.EncodeToString(key), Merchant: paywall.Merchant{ID: "mer_1", APIKey: "sk_live_x"},
	}
	_, err = paywall.New(cfg)
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("config", slog.Any("config", cfg), slog.Any("merchant", cfg.Merchant))
	shown := log.String() + fmt.Sprintf("%v %+v %#v %s %q", cfg, cfg, cfg, cfg, cfg) + fmt.Sprintf("%v %+v %#v", cfg.Merchant, cfg.Merchant, cfg.Merchant)
	require.Contains(t, shown, payTo)
	for _, hidden := range []string{secret, cfg.FacilitatorSecret, "sk_live_x"} {
		require.NotContains(t, shown, hidden)
	}
}

func TestWithSharesEverythingButTheRoute(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	dear := w.gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/search", Discovery: discovery()})
	rec := w.through(dear)
	require.Contains(t, rec.Body.String(), `"maxAmountRequired":"50000"`)
	require.Contains(t, rec.Body.String(), `"resource":"https://api.example.com/search"`)
	require.Contains(t, rec.Body.String(), payTo)
	require.Equal(t, 200, w.through(dear, "X-PAYMENT", w.payX402V1(dear, nil)).Code)

	_, err := w.gate.Derive(paywall.Route{Price: "free"})
	require.ErrorContains(t, err, "Price")
	_, err = w.gate.Derive(paywall.Route{Price: "0.05"})
	require.ErrorContains(t, err, "Resource: is required", "or what was paid for here would be served there")
	require.PanicsWithValue(t, `paywall: With: Price: "0" is not above zero`, func() { w.gate.With(paywall.Route{Price: "0"}) })
}

func TestPageIsWrittenForEachRequest(t *testing.T) {
	t.Parallel()
	var data paywall.PageData
	w := setup(t, func(c *paywall.Config) {
		c.CreditBundle = bundle(nil)
		c.Page = func(out io.Writer, r *http.Request, p paywall.PageData) error {
			data = p
			if r.Header.Get("Accept-Language") == "xx" {
				_, _ = io.WriteString(out, "half of it")
				return errors.New("not in this language")
			}
			_, err := io.WriteString(out, "ours in "+r.Header.Get("Accept-Language"))
			return err
		}
	})
	for _, language := range []string{"fr", "de"} {
		rec := w.ask("Accept", "text/html", "Accept-Language", language)
		require.Equal(t, "ours in "+language, rec.Body.String())
		require.Equal(t, "text/html; charset=utf-8", rec.Header().Get("Content-Type"))
	}
	torn := w.ask("Accept", "text/html", "Accept-Language", "xx")
	require.Equal(t, "payment_required", body(t, torn)["code"])
	require.Equal(t, "application/json", torn.Header().Get("Content-Type"))
	require.Equal(t, "0.01", data.Price)
	require.Equal(t, []paywall.PageTier{{Name: "Small", Dollars: "$5.00", Requests: 1000}}, data.Bundle.Tiers)
}
