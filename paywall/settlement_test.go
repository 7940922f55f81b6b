package paywall_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// strict makes the service settle an authorization once, and give the result again
// only to a repeat with the key of the first settlement.
func strict(w *world) (keys func() []string) {
	var mu sync.Mutex
	var all []string
	first := map[string]string{}
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
		if r.URL.Path != "/v1/x402/settle" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		all = append(all, key)
		authorization := w.service.lastNonce()
		if known, done := first[authorization]; done && known != key {
			_, _ = fmt.Fprintf(rw, `{"success":false,"errorReason":"duplicate_settlement","transaction":%q,"network":"eip155:84532"}`, transaction(1))
			return true
		}
		first[authorization] = key
		return false
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestDuplicateSettlementIsNotServed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x402 v2", "x402 v1", "mpp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := setup(t, nil), credentials()[name]
			keys := strict(w)
			paid := c.pay(w, w.gate)
			other := w.newGate(nil) // another program that was sent the same payment
			require.Equal(t, 200, w.ask(c.header, paid).Code)
			rec := w.through(other, c.header, paid)
			requireRefusal(t, rec, 402, "already_redeemed")
			requireRefusal(t, w.through(other, c.header, paid), 402, "already_redeemed")
			require.EqualValues(t, 1, w.served.Load())
			require.Equal(t, 1, w.service.moved())
			require.Len(t, keys(), 3)
			require.NotEmpty(t, keys()[0])
			require.NotEqual(t, keys()[0], keys()[1], "who does not share the claim does not share its key")
			require.NotContains(t, keys()[0], paid)
		})
	}
}

func TestLostAnswerIsFoundByTheKeyOfItsClaim(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x402 v2", "x402 v1", "mpp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := credentials()[name]
			shared := paywall.NewMemory(paywall.MemoryConfig{Clock: newClock().Now})
			w := setup(t, func(c *paywall.Config) { c.Redemptions = shared })
			paid := c.pay(w, w.gate)
			var keys []string
			lose := true
			w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				settle()
				if lose {
					rw.WriteHeader(502)
				}
				return lose
			})
			require.Equal(t, 502, w.ask(c.header, paid).Code)
			lose = false
			other := w.newGate(func(c *paywall.Config) { c.Redemptions = shared })
			require.Equal(t, 200, w.through(other, c.header, paid).Code)
			require.Equal(t, 1, w.service.moved())
			require.Len(t, keys, 2)
			require.Equal(t, keys[0], keys[1])
		})
	}
}

func TestOverpaymentOfVersion1IsReported(t *testing.T) {
	t.Parallel()
	for paid, want := range map[string]int64{"10000": 10_000, "500000": 500_000, "99999999999999999999999999": math.MaxInt64} {
		w := setup(t, nil)
		require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Payload.Authorization.Value = paid })).Code)
		require.Equal(t, want, w.seen.AmountMicros)
	}
	w := setup(t, func(c *paywall.Config) {
		c.Network, c.Asset = "eip155:31337", &paywall.Asset{Address: payTo, Name: "Test", Version: "1", Decimals: 18}
	})
	require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Payload.Authorization.Value = "500000000000000999" })).Code)
	require.EqualValues(t, 500_000, w.seen.AmountMicros)
}

// asked records the hosts that are called, and answers nothing.
type asked struct{ urls []string }

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.urls = append(a.urls, r.URL.String())
	return nil, io.ErrUnexpectedEOF
}

func TestVersion2IsVerifiedByTheServiceUnlessTheKeysAreSet(t *testing.T) {
	t.Parallel()
	keyed := func(c *paywall.Config) { c.FacilitatorKeyID, c.FacilitatorSecret = "k", facilitatorSecret(t) }
	for name, tc := range map[string]struct {
		change func(*paywall.Config)
		want   string
	}{
		"live":              {func(*paywall.Config) {}, "https://pay.example/v1/x402/verify"},
		"test":              {func(c *paywall.Config) { c.TestMode = true }, "https://pay.example/v1/x402/verify"},
		"own facilitator":   {func(c *paywall.Config) { c.Facilitator = "https://f.example/x" }, "https://f.example/x/verify"},
		"live, with keys":   {keyed, paywall.DefaultExternalFacilitator + "/verify"},
		"test, with keys":   {func(c *paywall.Config) { c.TestMode = true; keyed(c) }, paywall.DefaultExternalFacilitatorTest + "/verify"},
		"another with keys": {func(c *paywall.Config) { c.ExternalFacilitator = "https://e.example"; keyed(c) }, "https://e.example/verify"},
		"at a loopback address": {func(c *paywall.Config) {
			c.TestMode, c.ExternalFacilitator = true, "http://127.0.0.1:1/x402"
		}, "http://127.0.0.1:1/x402/verify"},
	} {
		out := &asked{}
		w := setup(t, func(c *paywall.Config) {
			c.TestMode, c.APIURL, c.HTTPClient = false, "https://pay.example", &http.Client{Transport: out}
			tc.change(c)
		})
		require.Equal(t, 502, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, nil)).Code, name)
		require.Equal(t, []string{tc.want}, out.urls, name)
	}
}
