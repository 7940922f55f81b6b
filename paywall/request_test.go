package paywall_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

func TestPreflightPassesAndOpensNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	ran := 0
	h := w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ran++
		rw.Header().Set("Access-Control-Allow-Origin", "*")
		rw.Header().Set("Content-Length", "5")
		rw.Header().Set("X-Seen", r.Header.Get("X-Service-Mandate"))
		_, _ = io.WriteString(rw, "sunny")
	}))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, request(http.MethodOptions, "Origin", "https://shop.example", "Access-Control-Request-Method", "GET", "X-Service-Mandate", "m"))
	require.Equal(t, http.StatusOK, rec.Code)
	require.Equal(t, "*", rec.Header().Get("Access-Control-Allow-Origin"))
	require.Empty(t, rec.Body.String())
	require.Empty(t, rec.Header().Get("Content-Length"))
	require.Empty(t, rec.Header().Get("X-Seen"))
	require.Contains(t, strings.Join(rec.Header().Values("Vary"), ", "), "X-Service-Mandate")
	require.Equal(t, 1, ran)
}

func TestOPTIONSThatIsNoPreflightRunsNoHandler(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	described := w.gate.With(paywall.Route{Resource: resource, Discovery: discovery()})
	for _, headers := range [][]string{nil, {"Origin", "https://shop.example"}, {"Access-Control-Request-Method", "GET"}} {
		for g, allow := range map[*paywall.Gate]string{w.gate: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", described: "POST, OPTIONS"} {
			rec := w.send(g, request(http.MethodOptions, headers...))
			require.Equal(t, http.StatusNoContent, rec.Code)
			require.Equal(t, allow, rec.Header().Get("Allow"))
			require.Contains(t, rec.Header().Get("Vary"), "X-PAYMENT")
		}
	}
	require.Zero(t, w.served.Load())
}

func TestHandlersAndProxiesDoNotSeeCredentials(t *testing.T) {
	t.Parallel()
	var seen http.Header
	behind := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		_, _ = io.WriteString(rw, "sunny")
	}))
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = behind.Client().Transport
	b := &wallet{left: 1}
	ways := credentials()
	ways["bare mandate"] = credential{header: "X-Service-Mandate", pay: func(w *world, _ *paywall.Gate) string { return w.service.mandate(nil).Reveal() }}
	ways["bundle"] = credential{header: "X-Bundle-Token", pay: func(*world, *paywall.Gate) string { return "tok" }}
	ways["mpp aside"] = credential{header: "Payment-Authorization", pay: func(w *world, g *paywall.Gate) string { return w.payMPP(g, nil) }}
	for name, c := range ways {
		w := setup(t, b.config)
		w.handler = proxy.ServeHTTP
		paid := c.pay(w, w.gate)
		r := request(http.MethodGet, c.header, paid, "Authorization", "Bearer of the application", "X-Other", "kept")
		require.Equal(t, 200, w.send(w.gate, r).Code, name)
		all := fmt.Sprint(seen)
		require.NotContains(t, all, paid[:min(len(paid), 40)], name)
		require.NotContains(t, seen, http.CanonicalHeaderKey(c.header+"-"), name)
		require.Equal(t, []string{"Bearer of the application"}, seen["Authorization"], name)
		require.Equal(t, "kept", seen.Get("X-Other"))
		require.NotEmpty(t, r.Header.Get(c.header), "the request of outer middleware is not changed")
	}
}

func TestHeadersOfOuterMiddlewareAreAddedTo(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		h := w.protected(w.gate)
		for _, headers := range [][]string{nil, {c.header, c.pay(w, w.gate)}, {c.header, "garbage"}} {
			rec := httptest.NewRecorder()
			rec.Header().Set("Access-Control-Expose-Headers", "X-Total")
			rec.Header().Set("Vary", "Origin")
			h.ServeHTTP(rec, request(http.MethodGet, headers...))
			require.Equal(t, "X-Total", rec.Result().Header.Values("Access-Control-Expose-Headers")[0])
			require.Contains(t, strings.Join(rec.Result().Header.Values("Access-Control-Expose-Headers"), ", "), "PAYMENT-RESPONSE")
			require.Equal(t, "Origin", rec.Result().Header.Values("Vary")[0])
			require.Contains(t, strings.Join(rec.Result().Header.Values("Vary"), ", "), "X-Service-Mandate")
		}
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { // a CORS middleware behind the gate
			rw.Header().Set("Access-Control-Expose-Headers", "X-Inner")
			rw.Header().Set("Vary", "Origin")
			_, _ = io.WriteString(rw, "sunny")
		}
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.Equal(t, 200, rec.Code)
		require.Contains(t, strings.Join(rec.Result().Header.Values("Access-Control-Expose-Headers"), ", "), "PAYMENT-RESPONSE")
		require.Contains(t, strings.Join(rec.Result().Header.Values("Vary"), ", "), "X-Service-Mandate")
	})
}

func TestPagesAndHEADNameMandatesAndBundles(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.CreditBundle = bundle(nil) })
	one, err := x402.DecodePaymentRequiredV1(w.ask().Body.Bytes())
	require.NoError(t, err)
	require.Len(t, one.PaymentMethods, 2)
	for _, rec := range []*httptest.ResponseRecorder{
		w.ask("Accept", "text/html"), w.send(w.gate, request(http.MethodHead)), w.ask("X-Bundle-Token", "none"),
	} {
		two, err := x402.DecodePaymentRequired(rec.Header().Get("PAYMENT-REQUIRED"))
		require.NoError(t, err)
		methods, err := two.Methods()
		require.NoError(t, err)
		require.Equal(t, one.PaymentMethods, methods)
	}
}

func TestSkippedRequestsAreNotPaid(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Skip = func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer subscriber" }
	})
	var seen http.Header
	h := w.gate.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = r.Header
		_, paid := paywall.PaymentFrom(r.Context())
		require.False(t, paid)
	}))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, request(http.MethodGet, "Authorization", "Bearer subscriber", "X-Service-Mandate", "m"))
	require.Equal(t, 200, rec.Code)
	require.Equal(t, "Bearer subscriber", seen.Get("Authorization"))
	require.Empty(t, seen.Get("X-Service-Mandate"))
	require.Contains(t, rec.Header().Get("Vary"), "Authorization")
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, request(http.MethodGet, "Authorization", "Bearer nobody"))
	require.Equal(t, 402, rec.Code)
	require.Zero(t, w.service.moved())
}

func TestHooksSeePaymentsAndRefusals(t *testing.T) {
	t.Parallel()
	var paid []paywall.Payment
	var refused []paywall.Refusal
	w := setup(t, func(c *paywall.Config) {
		c.OnPaid = func(r *http.Request, p paywall.Payment) {
			require.Empty(t, r.Header.Get("X-PAYMENT"))
			paid = append(paid, p)
		}
		c.OnRefused = func(_ *http.Request, r paywall.Refusal) { refused = append(refused, r) }
	})
	credential := w.payX402V1(w.gate, nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("X-PAYMENT", credential).Code)
	w.handler = sunny
	require.Equal(t, 200, w.ask("X-PAYMENT", credential).Code)
	require.Equal(t, []paywall.Payment{w.seen}, paid, "once a payment, not once an answer")
	require.Empty(t, refused, "nor is a 402 without credential a refusal")
	rec := w.ask("X-PAYMENT", credential)
	require.Equal(t, []paywall.Refusal{{
		Credential: paywall.CredentialX402V1, Status: 402, Code: "already_redeemed", Message: "The credential was already redeemed.", RequestID: rec.Header().Get("X-Request-Id"),
	}}, refused)
}

func TestNilHandlerPanicsBeforeAnyPayment(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	require.Panics(t, func() { w.gate.Require(nil) })
	require.Panics(t, func() { w.gate.Require(http.HandlerFunc(nil)) })
}

func TestMustPanicsOnAWrongConfiguration(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	require.NotNil(t, paywall.Must(paywall.New(w.config())))
	require.Panics(t, func() { paywall.Must(paywall.New(paywall.Config{})) })
}

func TestRequestIDOfTheRequestIsTakenIfItIsSane(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	var inside string
	w.handler = func(_ http.ResponseWriter, r *http.Request) { inside = paywall.RequestIDFrom(r.Context()) }
	rec := w.ask("X-Request-Id", "chi/0001-x", "X-PAYMENT", w.payX402V1(w.gate, nil))
	require.Equal(t, "chi/0001-x", rec.Header().Get("X-Request-Id"))
	require.Equal(t, "chi/0001-x", inside)
	require.Equal(t, "chi/0001-x", body(t, w.ask("X-Request-Id", "chi/0001-x"))["requestId"])
	for _, bad := range []string{"", "a b", `a"b`, "a\\b", "a\x7f", "ü", strings.Repeat("a", 129)} {
		rec = w.ask("X-Request-Id", bad)
		require.Regexp(t, "^req_", rec.Header().Get("X-Request-Id"), bad)
		require.Equal(t, rec.Header().Get("X-Request-Id"), body(t, rec)["requestId"])
	}
}

func TestOwnConnectionsCanBeClosed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	g := w.newGate(func(c *paywall.Config) { c.HTTPClient = nil })
	require.Equal(t, 200, w.through(g, "X-PAYMENT", w.payX402V1(g, nil)).Code)
	g.With(paywall.Route{Resource: resource}).CloseIdleConnections() // or goleak finds one
	w.gate.CloseIdleConnections()
}

func TestPayeeByRequest(t *testing.T) {
	t.Parallel()
	boom := errors.New("no such seller")
	w := setup(t, func(c *paywall.Config) {
		c.PayToFunc = func(r *http.Request) (string, error) {
			switch seller := r.Header.Get("X-Seller"); seller {
			case "unknown":
				return "", boom
			default:
				return seller, nil
			}
		}
	})
	payee := func(seller string) string {
		one, err := x402.DecodePaymentRequiredV1(w.ask("X-Seller", seller).Body.Bytes())
		require.NoError(t, err)
		return one.Accepts[0].PayTo
	}
	const other = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	require.Equal(t, payTo, payee(""))
	require.Equal(t, other, payee(other))
	for _, bad := range []string{"unknown", strings.ToLower(other), "0x1"} {
		require.Equal(t, 500, w.ask("X-Seller", bad).Code, bad)
	}
	paid := w.payX402V1(w.gate, nil)
	requireRefusal(t, w.ask("X-Seller", other, "X-PAYMENT", paid), 402, string(x402.ReasonRecipient))
	require.Equal(t, 200, w.ask("X-PAYMENT", paid).Code)
	alone := w.newGate(func(c *paywall.Config) {
		c.PayTo, c.PayToFunc = "", func(*http.Request) (string, error) { return other, nil }
	})
	require.Contains(t, w.through(alone).Body.String(), other)
}

func TestLogNamesRoutesThatAreNotListed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := setup(t, func(c *paywall.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for i := range 1002 {
		w.protected(w.gate.With(paywall.Route{Resource: fmt.Sprintf("https://api.example.com/%d", i)}))
	}
	require.Equal(t, 1, strings.Count(log.String(), "too many routes"))
	require.Contains(t, log.String(), "https://api.example.com/1000")
}
