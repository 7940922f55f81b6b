package paywall_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	basePayTo = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	dai       = "0x036CbD53842c5426634e7929541eC2318f3dCF7e" // of another chain, with 18 decimals
)

// several returns a world whose gate accepts USDC on Base Sepolia and on Base, and a
// token with 18 decimals on another chain, which a facilitator of its own settles.
func several(t *testing.T) (w *world, other *service) {
	t.Helper()
	other = newService(t, newClock())
	w = setup(t, func(c *paywall.Config) {
		c.Accepts = []paywall.Accept{
			{Network: "eip155:8453", PayTo: basePayTo},
			{
				Network: "eip155:100", Facilitator: other.URL + "/v1/x402",
				Asset: &paywall.Asset{Address: dai, Name: "Dollar", Version: "1", Decimals: 18},
			},
		}
	})
	return w, other
}

func TestEach402ListsEveryAcceptedToken(t *testing.T) {
	t.Parallel()
	w, _ := several(t)
	rec := w.ask()
	two, err := x402.DecodePaymentRequired(rec.Header().Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	one, err := x402.DecodePaymentRequiredV1(rec.Body.Bytes())
	require.NoError(t, err)
	challenges, err := mpp.ParseChallenges(rec.Header().Values("WWW-Authenticate")...)
	require.NoError(t, err)
	require.Len(t, two.Accepts, 3)
	require.Len(t, one.Accepts, 3)
	require.Len(t, challenges, 3)
	for i, want := range []struct{ two, one, payTo, amount string }{
		{"eip155:84532", "base-sepolia", payTo, "10000"},
		{"eip155:8453", "base", basePayTo, "10000"},
		{"eip155:100", "eip155:100", payTo, "10000000000000000"},
	} {
		require.Equal(t, want.two, two.Accepts[i].Network)
		require.Equal(t, want.one, one.Accepts[i].Network)
		require.Equal(t, want.payTo, two.Accepts[i].PayTo)
		require.Equal(t, want.payTo, one.Accepts[i].PayTo)
		require.Equal(t, want.amount, two.Accepts[i].Amount)
		require.Equal(t, want.amount, one.Accepts[i].MaxAmountRequired)
	}
	page := w.ask("Accept", "text/html").Body.String()
	require.Contains(t, page, basePayTo)
	require.Contains(t, page, "Dollar "+dai)
}

func TestEachAcceptedTokenPays(t *testing.T) {
	t.Parallel()
	for i, network := range []string{"eip155:84532", "eip155:8453", "eip155:100"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			w, other := several(t)
			settled := w.service
			if i == 2 {
				settled = other
			}
			to := []string{payTo, basePayTo, payTo}[i]
			two := w.payX402(w.gate, func(p *x402.Payload) {
				asked, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
				require.NoError(t, err)
				p.Accepted = asked.Accepts[i]
				p.Payload = w.transfer(p.Accepted.Amount)
				p.Payload.Authorization.To = to
			})
			require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", two).Code)
			require.Equal(t, network, w.seen.Network)
			require.EqualValues(t, 10_000, w.seen.AmountMicros)
			require.Equal(t, 1, settled.moved())
			requireRefusal(t, w.ask("PAYMENT-SIGNATURE", two), 402, "already_redeemed")

			one := w.payX402V1(w.gate, func(p *x402.PayloadV1) {
				asked, err := x402.DecodePaymentRequiredV1(w.ask().Body.Bytes())
				require.NoError(t, err)
				p.Network = asked.Accepts[i].Network
				p.Payload = w.transfer(asked.Accepts[i].MaxAmountRequired)
				p.Payload.Authorization.To = to
			})
			require.Equal(t, 200, w.ask("X-PAYMENT", one).Code)
			require.Equal(t, 2, settled.moved())

			challenges, err := mpp.ParseChallenges(w.ask().Header().Values("WWW-Authenticate")...)
			require.NoError(t, err)
			paid := w.credential(challenges[i], payer, nil)
			require.Equal(t, 200, w.ask("Authorization", paid).Code)
			require.Equal(t, 3, settled.moved())
		})
	}
}

// TestPaymentInOneTokenDoesNotPassAsAnother: a token's amount, payee and network go
// together.
func TestPaymentInOneTokenDoesNotPassAsAnother(t *testing.T) {
	t.Parallel()
	w, other := several(t)
	pay := func(accepted, transferred int) string {
		return w.payX402(w.gate, func(p *x402.Payload) {
			asked, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
			require.NoError(t, err)
			p.Accepted = asked.Accepts[accepted]
			p.Payload = w.transfer(asked.Accepts[transferred].Amount)
			p.Payload.Authorization.To = asked.Accepts[transferred].PayTo
		})
	}
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", pay(1, 0)), 402, "invalid_exact_evm_payload_recipient_mismatch")
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", pay(2, 0)), 402, "invalid_exact_evm_payload_authorization_value")
	mixed := w.payX402(w.gate, func(p *x402.Payload) { p.Accepted.Network = "eip155:100" })
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", mixed), 402, "invalid_payment_requirements")
	require.Zero(t, w.service.moved()+other.moved())
	require.Zero(t, w.served.Load())
}

// TestAuthorizationIsRedeemedOncePerChain: a nonce is used on each chain for itself.
func TestAuthorizationIsRedeemedOncePerChain(t *testing.T) {
	t.Parallel()
	other := newService(t, newClock())
	w := setup(t, func(c *paywall.Config) {
		c.Accepts = []paywall.Accept{{Network: "eip155:8453", Facilitator: other.URL + "/v1/x402"}}
	})
	same := w.transfer("10000")
	for i := range 2 {
		paid := w.payX402(w.gate, func(p *x402.Payload) {
			asked, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
			require.NoError(t, err)
			p.Accepted, p.Payload = asked.Accepts[i], same
		})
		require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", paid).Code)
		requireRefusal(t, w.ask("PAYMENT-SIGNATURE", paid), 402, "already_redeemed")
	}
	require.Equal(t, []int{1, 1, 2}, []int{w.service.moved(), other.moved(), int(w.served.Load())})
}

func TestRouteMayAcceptOtherTokens(t *testing.T) {
	t.Parallel()
	w, _ := several(t)
	accepts := func(g *paywall.Gate) int {
		two, err := x402.DecodePaymentRequired(w.through(g).Header().Get("PAYMENT-REQUIRED"))
		require.NoError(t, err)
		return len(two.Accepts)
	}
	require.Equal(t, 3, accepts(w.gate.With(paywall.Route{Resource: "https://api.example.com/a"})))
	require.Equal(t, 1, accepts(w.gate.With(paywall.Route{Resource: "https://api.example.com/b", Accepts: []paywall.Accept{}})))
	require.Equal(t, 2, accepts(w.gate.With(paywall.Route{Resource: "https://api.example.com/c", Accepts: []paywall.Accept{{Network: "eip155:8453"}}})))
}

func TestInvalidAcceptIsNamed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for field, a := range map[string]paywall.Accept{
		"Accepts[0].Network: ":       {Network: "polygon"},
		"Accepts[0].Asset: ":         {Network: "eip155:137"},
		"Accepts[0].Asset.Address: ": {Network: "eip155:137", Asset: &paywall.Asset{Address: strings.ToLower(dai), Name: "n", Version: "1"}},
		"Accepts[0].PayTo: ":         {Network: "eip155:8453", PayTo: "0x12"},
		"Accepts[0].Facilitator: ":   {Network: "eip155:8453", Facilitator: "http://facilitator.example"},
		"Accepts[0]: repeats":        {},
	} {
		cfg := w.config()
		cfg.Accepts = []paywall.Accept{a}
		_, err := paywall.New(cfg)
		require.ErrorContains(t, err, "paywall: "+field)
	}
}

// TestMandatePaysInTheFirstToken: the service settles mandates on its own network.
func TestMandatePaysInTheFirstToken(t *testing.T) {
	t.Parallel()
	w, _ := several(t)
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.Equal(t, "eip155:84532", w.service.mandates[0].Network)
	require.Equal(t, payTo, w.service.mandates[0].PayTo)
}

// TestDerivedRoutePaysItsOwnPayeeInEveryToken: the gate's wallet for another token is not
// inherited by a route with a payee of its own.
func TestDerivedRoutePaysItsOwnPayeeInEveryToken(t *testing.T) {
	t.Parallel()
	const seller = "0x2222222222222222222222222222222222222222"
	w, _ := several(t)
	for name, r := range map[string]paywall.Route{
		"PayTo":     {PayTo: seller},
		"PayToFunc": {PayToFunc: func(*http.Request) (string, error) { return seller, nil }},
	} {
		r.Resource = "https://api.example.com/" + name
		two, err := x402.DecodePaymentRequired(w.through(w.gate.With(r)).Header().Get("PAYMENT-REQUIRED"))
		require.NoError(t, err)
		require.Len(t, two.Accepts, 3)
		for _, a := range two.Accepts {
			require.Equal(t, seller, a.PayTo, "%s on %s", name, a.Network)
		}
	}
	cfg := w.config()
	cfg.PayTo, cfg.PayToFunc = "", func(*http.Request) (string, error) { return seller, nil }
	cfg.Accepts = []paywall.Accept{{Network: "eip155:8453", PayTo: basePayTo}}
	_, err := paywall.New(cfg)
	require.ErrorContains(t, err, "paywall: Accepts[0].PayTo: ")
}

// TestChallengesOfSeveralTokensAreBounded: each token adds to the headers of a 402, which
// proxies limit as a whole.
func TestChallengesOfSeveralTokensAreBounded(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Discovery = &paywall.Discovery{Description: "Weather", Output: paywall.Output{Schema: map[string]any{"type": "object"}}}
		c.Accepts = []paywall.Accept{{Network: "eip155:8453"}}
	})
	challenges := w.through(w.gate).Header().Values("WWW-Authenticate")
	require.Len(t, challenges, 2)
	require.Less(t, len(challenges[1]), len(challenges[0]), "only the first one has the schemas")

	cfg := w.config()
	cfg.Accepts = nil
	for chain := range 12 {
		cfg.Accepts = append(cfg.Accepts, paywall.Accept{
			Network: "eip155:" + strconv.Itoa(1000+chain), Asset: &paywall.Asset{Address: dai, Name: "Dollar", Version: "1", Decimals: 18},
		})
	}
	_, err := paywall.New(cfg)
	require.ErrorContains(t, err, "paywall: Accepts: makes ")
}
