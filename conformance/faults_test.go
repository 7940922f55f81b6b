package conformance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
)

// fault breaks a rule of a shop.
type fault struct {
	rule   string
	status conformance.Status
	name   string
	plant  func(*shop)
}

// faults are planted one at a time. Exactly the rule of its name finds each.
var faults = []fault{
	{"http.status", "fail", "the content is free", func(s *shop) { s.status = http.StatusOK }},
	{"http.status", "fail", "the endpoint redirects", func(s *shop) { s.status = http.StatusFound; s.unpaid.Set("Location", "https://other.example/") }},
	{"http.size", "fail", "a header of 9 KiB", func(s *shop) { s.unpaid.Set("X-Long", strings.Repeat("x", 9<<10)) }},
	{"http.head", "warn", "HEAD runs the handler", func(s *shop) { s.headServes = true }},
	{"http.html", "fail", "a browser gets the content", func(s *shop) { s.pageServes = true }},
	{"cache.challenge", "fail", "a cache may keep the 402", func(s *shop) { s.unpaid.Set("Cache-Control", "public, max-age=60") }},
	{"cache.challenge", "warn", "no Cache-Control", func(s *shop) { s.unpaid.Del("Cache-Control") }},
	{"cache.vary", "warn", "Vary forgets a header", func(s *shop) { s.unpaid.Set("Vary", "PAYMENT-SIGNATURE, Authorization") }},
	{"cors.expose", "fail", "scripts cannot read the challenge", func(s *shop) { s.cors.Del("Access-Control-Expose-Headers") }},
	{"cors.preflight", "fail", "the preflight must pay", func(s *shop) { s.preflight = http.StatusPaymentRequired }},
	{"cors.preflight", "fail", "the wildcard does not cover Authorization", func(s *shop) { s.cors.Set("Access-Control-Allow-Headers", "*") }},
	{"cors.credentials", "fail", "cookies of every origin", func(s *shop) { s.cors.Set("Access-Control-Allow-Credentials", "true") }},
	{"x402v2.challenge", "fail", "no base64", func(s *shop) { s.finish = func(h http.Header) { h.Set("PAYMENT-REQUIRED", "{}") } }},
	{"x402v2.resource", "fail", "another path", func(s *shop) { s.two["resource"] = "http://127.0.0.1/other" }},
	{"x402v2.scheme", "fail", "a made-up scheme", func(s *shop) { s.two["scheme"] = "roughly" }},
	{"x402v2.network", "fail", "a name of version 1", func(s *shop) { s.two["network"] = "base-sepolia" }},
	{"x402v2.amount", "fail", "a decimal price", func(s *shop) { s.two["amount"] = 10000 }},
	{"x402v2.asset", "fail", "no address", func(s *shop) { s.two["asset"] = "USDC" }},
	{"x402v2.payto", "fail", "a wrong checksum", func(s *shop) { s.two["payTo"] = "0x70997970c51812dc3A010C7d01b50e0d17dc79C8" }},
	{"x402v2.timeout", "fail", "no time", func(s *shop) { s.two["maxTimeoutSeconds"] = 0 }},
	{"x402v2.domain", "fail", "the name of another chain's token", func(s *shop) { s.two["extra"].(map[string]any)["name"] = "USD Coin" }},
	{"x402v2.flow", "fail", "an unknown flow", func(s *shop) { s.two["extra"].(map[string]any)["paymentFlow"] = "later" }},
	{"x402v2.identifier", "fail", "info is empty", func(s *shop) {
		s.extensions["payment-identifier"] = map[string]any{"info": map[string]any{}, "schema": map[string]any{}}
	}},
	{"x402v1.challenge", "fail", "the body is no JSON type", func(s *shop) { s.v1Type = "text/plain" }},
	{"x402v1.resource", "warn", "another host", func(s *shop) { s.one["resource"] = "http://internal.example/weather" }},
	{"x402v1.network", "fail", "a name of version 2", func(s *shop) { s.one["network"] = "eip155:84532" }},
	{"x402v1.amount", "fail", "a leading zero", func(s *shop) { s.one["maxAmountRequired"] = "010000"; s.two["amount"] = price }},
	{"x402v1.domain", "fail", "no domain", func(s *shop) { delete(s.one, "extra") }},
	{"mpp.challenge", "fail", "no parameters", func(s *shop) { s.finish = func(h http.Header) { h.Set("WWW-Authenticate", `Payment realm="x"`) } }},
	{"mpp.id", "fail", "one id for every payer", func(s *shop) { s.sameID = true }},
	{"mpp.realm", "warn", "another realm", func(s *shop) { s.realm = "other.example" }},
	{"mpp.expires", "fail", "expired", func(s *shop) { s.expires = -time.Minute }},
	{"mpp.expires", "warn", "never expires", func(s *shop) { s.expires = 0 }},
	{"mpp.request", "fail", "JSON that is not canonical", func(s *shop) { s.pad = true }},
	{"mpp.amount", "fail", "a price of zero", func(s *shop) { s.charge["amount"] = "0" }},
	{"mpp.currency", "fail", "a currency by name", func(s *shop) { s.charge["currency"] = "usd" }},
	{"mpp.recipient", "fail", "no recipient", func(s *shop) { delete(s.charge, "recipient") }},
	{"mpp.chain", "fail", "no chain", func(s *shop) { s.charge["methodDetails"] = map[string]any{"decimals": 6} }},
	{"price.agree", "fail", "MPP is cheaper", func(s *shop) { s.charge["amount"] = "9000" }},
	{"price.payee", "fail", "version 1 pays another wallet", func(s *shop) { s.one["payTo"] = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC" }},
	{"price.stable", "warn", "the price moves", func(s *shop) { s.dynamic.Store(1); delete(s.operation()["x-payment-info"].(map[string]any), "amount") }},
	{"price.range", "warn", "two dollars", func(s *shop) {
		s.two["amount"], s.one["maxAmountRequired"], s.charge["amount"] = "2000000", "2000000", "2000000"
		s.operation()["x-payment-info"].(map[string]any)["amount"] = "2000000"
	}},
	{"refuse.malformed", "fail", "nonsense ends in 500", func(s *shop) { s.malformed = http.StatusInternalServerError }},
	{"refuse.problem", "warn", "no problem type", func(s *shop) { s.problem = "" }},
	{"refuse.fresh", "warn", "a refusal without challenge", func(s *shop) { s.forgetsChallenge = true }},
	{"refuse.long", "warn", "a long header ends the connection", func(s *shop) { s.longFails = true }},
	{"refuse.unsigned", "fail", "signatures are not verified", func(s *shop) { s.acceptsUnsigned = true }},
	{"refuse.unfunded", "fail", "a signature is enough", func(s *shop) { s.acceptsUnfunded = true }},
	{"discovery.bazaar", "fail", "info does not fit its schema", func(s *shop) { s.schema["required"] = []any{"input", "price"} }},
	{"discovery.bazaar", "warn", "no declaration", func(s *shop) { delete(s.extensions, "bazaar") }},
	{"discovery.output", "warn", "no output", func(s *shop) {
		s.extensions["bazaar"] = map[string]any{"info": map[string]any{"input": map[string]any{"method": "GET"}}, "schema": map[string]any{}}
	}},
	{"discovery.openapi", "fail", "an old document", func(s *shop) { delete(s.doc, "openapi"); s.doc["swagger"] = "2.0" }},
	{"discovery.path", "warn", "the path is missing", func(s *shop) { s.doc["paths"] = map[string]any{} }},
	{"discovery.payment", "warn", "no x-payment-info", func(s *shop) { delete(s.operation(), "x-payment-info") }},
	{"discovery.price", "fail", "an old price", func(s *shop) { s.operation()["x-payment-info"].(map[string]any)["amount"] = "5000" }},
	{"discovery.answer", "warn", "402 is missing", func(s *shop) { delete(s.operation()["responses"].(map[string]any), "402") }},
}

// paidFaults are found only with a payment.
var paidFaults = []fault{
	{"paid.x402v2", "fail", "every payment is refused", func(s *shop) { s.refuses = "PAYMENT-SIGNATURE" }},
	{"paid.x402v1", "fail", "version 1 is refused", func(s *shop) { s.refuses = "X-PAYMENT" }},
	{"paid.mpp", "fail", "MPP is refused", func(s *shop) { s.refuses = "Authorization" }},
	{"receipt.x402v2", "fail", "no receipt", func(s *shop) { s.hidesReceipt = "PAYMENT-SIGNATURE" }},
	{"receipt.x402v1", "fail", "no receipt", func(s *shop) { s.hidesReceipt = "X-PAYMENT" }},
	{"receipt.mpp", "fail", "no transaction", func(s *shop) { s.receipt["reference"] = "paid" }},
	{"receipt.x402v2", "fail", "another network", func(s *shop) { s.receipt["network v2"] = "eip155:8453" }},
	{"receipt.x402v2", "fail", "no success", func(s *shop) { s.receipt["success v2"] = false }},
	{"paid.cache", "fail", "a shared cache may keep it", func(s *shop) { s.paid.Set("Cache-Control", "public, max-age=60") }},
	{"paid.cache", "warn", "no Cache-Control", func(s *shop) { s.paid.Del("Cache-Control") }},
	{"paid.replay", "fail", "served twice", func(s *shop) { s.acceptsReplay = true }},
	{"paid.crossing", "fail", "served again in another header", func(s *shop) { s.acceptsOtherHeader = true }},
	{"paid.race", "fail", "the claim is not atomic", func(s *shop) { s.acceptsRace = true }},
	{"paid.payee", "fail", "the payee is not compared", func(s *shop) { s.acceptsOther = true }},
	{"paid.expired", "fail", "the window is not checked", func(s *shop) { s.acceptsExpired = true }},
	{"paid.less", "fail", "the price is not compared", func(s *shop) { s.acceptsLess = true }},
}

// found returns the results that are neither passed nor skipped, as rule and status.
func found(r conformance.Report) map[string]conformance.Status {
	all := map[string]conformance.Status{}
	for _, result := range r.Results {
		slow := result.ID == "http.time" && result.Status == conformance.Warn // the machine is; TestSlowChallengeIsAFault has the rule
		if (result.Status == conformance.Fail || result.Status == conformance.Warn) && !slow {
			all[result.ID+": "+result.Detail] = result.Status
		}
	}
	return all
}

func TestPaywallWithoutAFaultPassesEveryRule(t *testing.T) {
	t.Parallel()
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: newShop(t).url})
	require.NoError(t, err)
	require.Empty(t, found(report))
	require.Equal(t, []string{"x402 v2", "x402 v1", "MPP"}, report.Protocols)
	for _, r := range report.Results {
		if r.Status == conformance.Skipped {
			require.True(t, r.Pays || r.ID == "http.tls", "%s was skipped: %s", r.ID, r.Detail)
		}
	}
}

func TestPaywallWithoutAFaultPassesEveryRuleThatPays(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	report, err := conformance.Validate(t.Context(), s.paying(t, 70_000))
	require.NoError(t, err)
	require.Empty(t, found(report))
	for _, r := range report.Results {
		require.True(t, r.Status == conformance.Pass || r.ID == "http.tls", "%s: %s", r.ID, r.Detail)
	}
	require.EqualValues(t, 50_000, report.SignedMicros, "three protocols, a race, and one unit less")
	require.EqualValues(t, 40_000, report.PaidMicros)
}

func TestEachPlantedFaultIsFoundByItsRuleAlone(t *testing.T) {
	t.Parallel()
	for _, pays := range []bool{false, true} {
		for _, f := range map[bool][]fault{false: faults, true: paidFaults}[pays] {
			t.Run(f.rule+" "+f.name, func(t *testing.T) {
				t.Parallel()
				s := newShop(t)
				f.plant(s)
				c := conformance.Config{URL: s.url}
				if pays {
					c = s.paying(t, 70_000)
				}
				report, err := conformance.Validate(t.Context(), c)
				require.NoError(t, err)
				all := found(report)
				require.Len(t, all, 1, "%v", all)
				for at, status := range all {
					require.True(t, strings.HasPrefix(at, f.rule+": "), at)
					require.Equal(t, f.status, status, at)
				}
			})
		}
	}
}

// TestBudgetHoldsAcrossAllChecks: no signature takes the sum above the budget, even of
// payments that a server refuses.
func TestBudgetHoldsAcrossAllChecks(t *testing.T) {
	t.Parallel()
	for budget := int64(5_000); budget <= 60_000; budget += 5_000 {
		s := newShop(t)
		c := s.paying(t, budget)
		w := &countingWallet{Wallet: c.Wallet, to: sellerWallet}
		c.Wallet = w
		report, err := conformance.Validate(t.Context(), c)
		require.NoError(t, err)
		require.LessOrEqual(t, w.signed.Load(), budget)
		require.LessOrEqual(t, report.SignedMicros, budget)
		require.GreaterOrEqual(t, report.SignedMicros, w.signed.Load())
		require.Equal(t, min(budget/10_000*10_000, 50_000), report.SignedMicros)
	}
}

// TestSignedPaymentsExpireSoon: a challenge that expires in a year gets no signature that is
// valid for a year.
func TestSignedPaymentsExpireSoon(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.expires, s.two["maxTimeoutSeconds"], s.one["maxTimeoutSeconds"] = 365*24*time.Hour, 31536000, 31536000
	c := s.paying(t, 70_000)
	w := &countingWallet{Wallet: c.Wallet, to: sellerWallet}
	c.Wallet = w
	report, err := conformance.Validate(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, conformance.Pass, result(t, report, "paid.mpp").Status)
	require.LessOrEqual(t, w.latest.Load(), time.Now().Add(10*time.Minute).Unix())
}

func TestNothingIsPaidOverPlainHTTP(t *testing.T) {
	t.Parallel()
	c := newShop(t).paying(t, 10_000)
	c.URL = "http://shop.example/weather"
	_, err := conformance.Validate(t.Context(), c)
	require.ErrorContains(t, err, "refusing to pay over plain HTTP")
}
