package agent_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

func TestChallengeOfAnotherRealmIsNotPaid(t *testing.T) {
	t.Parallel()
	request, err := mpp.EncodeJSON(mpp.ChargeRequest{
		Amount: "10000", Currency: usdc, Recipient: payTo, MethodDetails: mpp.MethodDetails{ChainID: 84532, Decimals: 6},
	})
	require.NoError(t, err)
	for realm, paid := range map[string]bool{"HOST": true, "127.0.0.1": true, "http://HOST": true, "api.example.com": false, "127.0.0.1.example.com": false} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if paid {
				return
			}
			header, err := mpp.Challenge{ID: "id-1", Realm: strings.Replace(realm, "HOST", r.Host, 1), Method: "evm", Intent: "charge", Request: request}.Header()
			if err != nil {
				panic(err)
			}
			w.Header().Set("WWW-Authenticate", header)
			w.WriteHeader(http.StatusPaymentRequired)
		})
		_, err := get(t, client(t, withWallet(t)), s.URL)
		require.Equal(t, paid, err == nil, realm)
		require.Equal(t, paid, len(s.credentials()) == 1, realm)
		if !paid {
			require.ErrorIs(t, err, agent.ErrNoMethod)
			require.ErrorContains(t, err, "realm", "the reason")
		}
	}
}

func TestTransferPaysTheAddressAskedWhateverTheServerCallsIt(t *testing.T) {
	t.Parallel()
	for resource, differs := range map[string]string{
		"https://behind.example/door": "https://behind.example/door",
		"http://localhost:3000/door":  "http://localhost:3000/door",
		"http://HOST/door?a=1":        "",
		"http://HOST/other?a=1":       "http://HOST/other",
		"":                            "",
	} {
		for _, version := range []agent.Method{agent.X402, agent.X402V1} {
			s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
				named := strings.Replace(resource, "HOST", r.Host, 1)
				switch {
				case paid:
					_, _ = io.WriteString(w, "served")
				case version == agent.X402:
					ask(w, r, "10000", func(p *x402.PaymentRequired) { p.Resource.URL = named })
				default:
					w.WriteHeader(http.StatusPaymentRequired)
					_ = json.NewEncoder(w).Encode(x402.PaymentRequiredV1{X402Version: 1, Accepts: []x402.RequirementsV1{{
						Scheme: "exact", Network: "base-sepolia", MaxAmountRequired: "10000", Asset: usdc, PayTo: payTo, Resource: named, MaxTimeoutSeconds: 60,
					}}})
				}
			})
			cfg := withWallet(t)
			var shown agent.Purchase
			cfg.Approve = func(_ ctx, p agent.Purchase) error {
				shown = p
				return nil
			}
			resp, err := get(t, client(t, cfg), s.URL+"/door")
			require.NoError(t, err, resource)
			require.Equal(t, "served", resp.text)
			require.Equal(t, strings.Replace(differs, "HOST", s.Listener.Addr().String(), 1), shown.Resource, "%s %s", version, resource)
			require.Equal(t, s.URL+"/door", shown.URL)
		}
	}
}

func TestMandateIsBoundToTheOriginAsked(t *testing.T) {
	t.Parallel()
	for resource, paid := range map[string]bool{
		"http://HOST/door": true, "http://HOST/other": true, "https://HOST/door": false, "http://HOST.example/door": false,
		"https://other.example/door": false, "http://user@HOST/door": false, "": false,
	} {
		for _, inHeader := range []bool{false, true} {
			s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
				if !paid {
					askMandate(w, r, strings.Replace(resource, "HOST", r.Host, 1), inHeader)
				}
			})
			service := &counted{}
			_, err := get(t, client(t, agent.Config{MaxPriceMicros: 10_000, Service: service, Mandate: "dtok_1"}), s.URL+"/door")
			require.Equal(t, paid, err == nil, "%q %v: %v", resource, inHeader, err)
			if !paid {
				require.ErrorIs(t, err, agent.ErrNoMethod)
				require.ErrorContains(t, err, "mandate on eip155:84532: it is for another origin")
				require.Zero(t, service.presentations.Load())
				continue
			}
			require.Equal(t, s.URL, service.params.Audience)
			require.Equal(t, strings.Replace(resource, "HOST", s.Listener.Addr().String(), 1), service.params.Resource)
		}
	}
}

// askMandate offers a mandate, in the JSON body or beside a page in the header.
func askMandate(w http.ResponseWriter, r *http.Request, resource string, inHeader bool) {
	methods := []x402.Method{{Type: "mandate", Header: agent.HeaderMandate, Amount: "10000", Currency: "usdc"}}
	if !inHeader {
		w.WriteHeader(http.StatusPaymentRequired)
		_ = json.NewEncoder(w).Encode(x402.PaymentRequiredV1{X402Version: 1, PaymentMethods: methods, Accepts: []x402.RequirementsV1{{
			Scheme: "exact", Network: "base-sepolia", MaxAmountRequired: "10000", Asset: usdc, PayTo: payTo, Resource: resource, MaxTimeoutSeconds: 60,
		}}})
		return
	}
	extension, err := x402.MethodsExtension(methods)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "text/html")
	ask(w, r, "10000", func(p *x402.PaymentRequired) {
		p.Resource.URL = resource
		p.Extensions = map[string]x402.Extension{x402.ExtensionMethods: extension}
	})
}

func TestMandatePaysForPagesAndHEAD(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			askMandate(w, r, "http://"+r.Host+r.URL.Path, true)
		}
	})
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html")
		resp, err := do(t, client(t, agent.Config{MaxPriceMicros: 10_000, Service: &counted{}, Mandate: "dtok_1"}), r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	require.Len(t, s.credentials(), 2)
}

func TestMandatePaysForThePageOfAGate(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	resp, err := do(t, client(t, s.config()), r)
	require.NoError(t, err)
	require.Equal(t, "sunny", resp.text)
	require.Equal(t, int64(1), s.charges())
}

func TestMandatePaysAServerBehindAProxyThatEndsTLS(t *testing.T) {
	t.Parallel()
	service := &counted{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(agent.HeaderMandate) == "" {
			askMandate(w, r, "http://"+r.Host+r.URL.Path, false)
		}
	}))
	t.Cleanup(s.Close)
	cfg := agent.Config{MaxPriceMicros: 10_000, Service: service, Mandate: "dtok_1", Base: s.Client().Transport}
	resp, err := get(t, client(t, cfg), s.URL+"/door")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, []string{s.URL, s.URL + "/door"}, []string{service.params.Audience, service.params.Resource})
}

func TestEveryOfferLeftOutHasItsReason(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) {
		w.Header().Set("WWW-Authenticate", `Payment id="1", realm="elsewhere.example", method="evm", intent="charge", request="e30"`)
		ask(w, r, "10000", func(p *x402.PaymentRequired) {
			r := p.Accepts[0]
			upto, mainnet, token, payee, permit := r, r, r, r, r
			upto.Scheme, mainnet.Network, token.Asset, payee.PayTo = "upto", "eip155:1", payTo, "0x0"
			permit.Extra = map[string]any{"assetTransferMethod": "permit2"}
			p.Accepts = []x402.Requirements{upto, mainnet, token, permit}
			p.Extensions = map[string]x402.Extension{"payment-methods": {
				Info: json.RawMessage(`{"methods":[{"type":"mandate","header":"X-Service-Mandate","amount":"1","currency":"usdc"},{"type":"credit-bundle"},{"type":"cash\u001b[2J"}]}`),
			}}
		})
	})
	_, err := get(t, client(t, withWallet(t)), s.URL)
	var e *agent.PaymentError
	require.ErrorAs(t, err, &e)
	reasons := map[string]bool{}
	for _, d := range e.Dropped {
		reasons[d.String()] = true
	}
	for _, want := range []string{
		`x402 on eip155:84532: scheme "upto"  is not supported`, "x402 on eip155:1: the wallet has no token there",
		"x402 on eip155:84532: the wallet does not pay in token " + payTo, `x402 on eip155:84532: scheme "exact" permit2 is not supported`,
		`mpp: its realm is "elsewhere.example", not the host asked`, "mandate on eip155:84532: no mandate is configured",
		"bundle: no bundle token is configured for this origin", "cash[2J: is an unknown payment method",
	} {
		require.True(t, reasons[want], "%s\nin %v", want, err)
	}
	require.ErrorContains(t, err, "the wallet has no token there")
}

// TestUnknownMethodIsNoBundle: a bundle token goes only to a server that offers bundles.
func TestUnknownMethodIsNoBundle(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if paid {
			return
		}
		ask(w, r, "10000", func(p *x402.PaymentRequired) {
			p.Extensions = map[string]x402.Extension{"payment-methods": {Info: json.RawMessage(`{"methods":[{"type":"future"}]}`)}}
		})
	})
	cfg := withWallet(t)
	cfg.BundleTokens = map[string]string{s.URL: "bundle-1"}
	_, err := get(t, client(t, cfg), s.URL)
	require.NoError(t, err)
	for _, sent := range s.credentials() {
		require.Empty(t, sent.Get(agent.HeaderBundleToken))
	}
}

func TestMPPIsPreferredIfX402IsATranslation(t *testing.T) {
	t.Parallel()
	for _, mppx := range []bool{false, true} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if paid {
				return
			}
			everyWay(&withExtension{ResponseWriter: w, mppx: mppx}, r, "10000", 0)
		})
		_, err := get(t, client(t, withWallet(t)), s.URL)
		require.NoError(t, err)
		require.Equal(t, mppx, s.credentials()[0].Get("Authorization") != "")
	}
}

// withExtension adds the extension mppx to the challenge that goes through it.
type withExtension struct {
	http.ResponseWriter

	mppx bool
}

func (w *withExtension) WriteHeader(status int) {
	if two, err := x402.DecodePaymentRequired(w.Header().Get("PAYMENT-REQUIRED")); err == nil && w.mppx {
		two.Extensions = map[string]x402.Extension{"mppx": {Info: json.RawMessage(`{"routeBinding":"required"}`), Schema: json.RawMessage(`{}`)}}
		header, err := x402.EncodeHeader(two)
		if err != nil {
			panic(err)
		}
		w.Header().Set("PAYMENT-REQUIRED", header)
	}
	w.ResponseWriter.WriteHeader(status)
}

func TestPaymentIdentifierIsSentIfOffered(t *testing.T) {
	t.Parallel()
	for info, sent := range map[string]bool{`{"required":true}`: true, `{"required":false,"more":[1]}`: true, `{}`: true, "": false} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if paid {
				return
			}
			ask(w, r, "10000", func(p *x402.PaymentRequired) {
				p.Extensions = map[string]x402.Extension{"other": {Info: json.RawMessage(`{"kept":1}`), Schema: json.RawMessage(`{}`)}}
				if info != "" {
					p.Extensions[x402.ExtensionIdentifier] = x402.Extension{Info: json.RawMessage(info), Schema: json.RawMessage(`{"type":"object"}`)}
				}
			})
		})
		c := client(t, withWallet(t))
		ids := map[string]bool{}
		for range 2 {
			_, err := get(t, c, s.URL)
			require.NoError(t, err)
		}
		for _, signature := range s.signatures() {
			p, err := x402.DecodePayload(signature)
			require.NoError(t, err)
			id, err := p.Identifier()
			require.NoError(t, err)
			require.Equal(t, sent, id != "", info)
			ids[id] = true
			require.JSONEq(t, `{"kept":1}`, string(p.Extensions["other"].Info))
			if info == `{"required":true}` {
				require.Contains(t, string(p.Extensions[x402.ExtensionIdentifier].Info), `"required":true`)
			}
		}
		require.Equal(t, sent, len(ids) == 2, "each purchase has its own")
	}
}
