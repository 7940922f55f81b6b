package gateproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/gateproxy"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const (
	wallet   = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	factsKey = "a key of facts that has 32 bytes or more"
)

// bench is a proxy in front of an upstream, with a service that settles.
type bench struct {
	*servertest.Server

	url, mandate string
	proxy        *gateproxy.Proxy
	config       gateproxy.Config
	registry     *prometheus.Registry
	redemptions  *paywall.Memory
}

func start(t *testing.T, upstream http.Handler, routes ...gateproxy.Route) *bench {
	t.Helper()
	service := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	behind := httptest.NewServer(upstream)
	t.Cleanup(behind.Close)
	b := &bench{Server: service, mandate: service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}), registry: prometheus.NewRegistry()}
	b.redemptions = paywall.NewMemory(paywall.MemoryConfig{Clock: service.Clock.Now})
	b.proxy = gateproxy.New(gateproxy.Options{Registerer: b.registry, Clock: service.Clock.Now, Redemptions: b.redemptions})
	front := httptest.NewServer(b.proxy)
	t.Cleanup(front.Close)
	b.url = front.URL
	b.config = gateproxy.Config{
		Upstream: behind.URL, FactsKey: []byte(factsKey), Routes: routes,
		Paywall: paywall.Config{
			Origin: front.URL, PayTo: wallet, APIURL: service.URL, TestMode: true,
			Merchant: paywall.Merchant{ID: service.Merchant.ID, APIKey: service.Merchant.APIKey},
		},
	}
	require.NoError(t, b.proxy.Load(b.config))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, b.proxy.Shutdown(ctx))
	})
	return b
}

func priced(pattern, price string) gateproxy.Route {
	return gateproxy.Route{Pattern: pattern, Paid: paywall.Route{Price: price}}
}

// ask sends a request, with a mandate if pays, and returns the response with its body.
func (b *bench) ask(t *testing.T, method, path string, pays bool, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, http.NoBody)
	require.NoError(t, err)
	if pays {
		r.Header.Set("X-Service-Mandate", b.mandate)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = []string{headers[i+1]}
	}
	return b.send(t, r)
}

func (b *bench) send(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer c.CloseIdleConnections()
	resp, err := c.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(body)
}

func (b *bench) paidCents(t *testing.T) int64 {
	t.Helper()
	balance, err := b.Client().Balance(t.Context(), b.mandate)
	require.NoError(t, err)
	return balance.CurrentMonthlySpendCents
}

// TestUnservedPaymentIsGoodAfterAReload and at another instance with the same redemptions: a
// bare mandate without an Idempotency-Key does not pay again.
func TestUnservedPaymentIsGoodAfterAReload(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, b *bench){
		"a reload": func(t *testing.T, b *bench) {
			t.Helper()
			require.NoError(t, b.proxy.Load(b.config))
		},
		"another instance": func(t *testing.T, b *bench) {
			t.Helper()
			other := gateproxy.New(gateproxy.Options{Registerer: prometheus.NewRegistry(), Clock: b.Clock.Now, Redemptions: b.redemptions})
			require.NoError(t, other.Load(b.config))
			front := httptest.NewServer(other)
			t.Cleanup(front.Close)
			b.url = front.URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var up atomic.Bool
			b := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !up.Load() {
					panic(http.ErrAbortHandler)
				}
				fmt.Fprint(w, "sunny")
			}), priced("GET /weather", "0.60"))
			resp, _ := b.ask(t, http.MethodGet, "/weather", true)
			require.Equal(t, http.StatusBadGateway, resp.StatusCode)
			require.NotEmpty(t, resp.Header.Get("Idempotency-Key"))
			up.Store(true)
			change(t, b)
			resp, body := b.ask(t, http.MethodGet, "/weather", true)
			require.Equal(t, []any{http.StatusOK, "sunny"}, []any{resp.StatusCode, body})
			require.EqualValues(t, 60, b.paidCents(t))
		})
	}
}

// TestUpstreamSeesThePaymentAndNoCredential: what the gate says about a payment cannot come from
// the client, however it spells the headers.
func TestUpstreamSeesThePaymentAndNoCredential(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[http.Request]
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Clone(context.Background()))
		fmt.Fprint(w, "sunny")
	}), priced("GET /weather/{city}", "0.60"), gateproxy.Route{Pattern: "/about", Free: true})
	forged := []string{
		"X-Payment-Payer", "mallory", "X_payment_payer", "mallory", "X-Payment-Facts", "forged", "Connection", "X-Payment-Facts, X-Payment-Amount",
		"X-Http-Method-Override", "DELETE", "X-Original-Url", "/admin", "X-Forwarded-For", "192.0.2.1",
	}
	resp, body := b.ask(t, http.MethodGet, "/weather/oslo?units=c", true, forged...)
	require.Equal(t, []any{http.StatusOK, "sunny"}, []any{resp.StatusCode, body})
	h := got.Load().Header
	require.Equal(t, []any{"/weather/oslo", "units=c"}, []any{got.Load().URL.Path, got.Load().URL.RawQuery})
	for _, name := range []string{"X-Service-Mandate", "X_payment_payer", "X-Http-Method-Override", "X-Original-Url"} {
		require.NotContains(t, h, name)
	}
	require.Equal(t, []string{"127.0.0.1"}, h["X-Forwarded-For"], "only trusted proxies name clients")
	require.Equal(t, strings.TrimPrefix(b.url, "http://"), h.Get("X-Forwarded-Host"))
	require.Equal(t, []string{"mandate", "0.60"}, []string{h.Get("X-Payment-Method"), h.Get("X-Payment-Amount")})
	require.Regexp(t, "^txn_", h.Get("X-Payment-Transaction"))
	require.NotContains(t, h.Values("X-Payment-Payer"), "mallory")
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(h.Get("X-Payment-Facts"), claims, func(*jwt.Token) (any, error) { return []byte(factsKey), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(b.url), jwt.WithTimeFunc(b.Clock.Now), jwt.WithExpirationRequired())
	require.NoError(t, err)
	require.Equal(t, []any{"GET", b.url + "/weather/oslo"}, []any{claims["htm"], claims["htu"]})
	require.InDelta(t, 600_000, claims["payment"].(map[string]any)["amountMicros"], 0)

	resp, _ = b.ask(t, http.MethodGet, "/about", true, forged...)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	for name := range got.Load().Header {
		require.NotContains(t, strings.ReplaceAll(strings.ToLower(name), "_", "-"), "x-payment-")
	}
	require.NotContains(t, got.Load().Header, "X-Service-Mandate", "free routes take no credential either")
	require.EqualValues(t, 60, b.paidCents(t))
	require.InDelta(t, 600_000, b.counted(t, "paywarrant_gate_paid_micro_dollars_total"), 0)
}

// counted returns the value of a metric with one series.
func (b *bench) counted(t *testing.T, name string) float64 {
	t.Helper()
	families, err := b.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			require.Len(t, f.GetMetric(), 1)
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Fail(t, "no metric "+name)
	return 0
}

// TestNoSpellingOfAPathIsFree: the upstream ignores case and slashes at the end, resolves
// encoded dots, and drops path parameters, as popular servers do.
func TestNoSpellingOfAPathIsFree(t *testing.T) {
	t.Parallel()
	var sold atomic.Int64
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(strings.ToLower(r.URL.Path), "weather") {
			sold.Add(1)
		}
		fmt.Fprint(w, "served")
	}), priced("GET /weather/{city}", "0.60"), priced("/Weather", "0.60"), priced("/cheap/", "0.01"), priced("/cheap/dear", "5.00"), gateproxy.Route{Pattern: "/", Free: true})
	for path, want := range map[string]int{
		"/weather/oslo": 402, "/weather": 404, "/Weather": 402, "/WEATHER/oslo": 404, "/weather/oslo/": 404, "/Weather/": 404, "/weather/": 404,
		"//weather/oslo": 307, "/a/../weather/oslo": 400, "/a/%2e%2e/weather/oslo": 400, "/a/..;x=1/weather/oslo": 400, "/weather%2foslo": 400,
		"/weather%5coslo": 400, `/weather\oslo`: 400, "/weather/oslo%00": 400, "/./weather/oslo": 400, "/other": 200,
		"/weather;x=1/oslo": 404, "/weather;x": 404, "/weather%3Bx": 404, "/other;x": 200,
		"/cheap/dear": 402, "/cheap/Dear": 404, "/cheap/dear/": 404, "/cheap/dear;x": 404, "/cheap/other": 402, "/cheap/Other": 402,
	} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
		require.NoError(t, err)
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err, path)
		require.Equal(t, want, resp.StatusCode, path)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, c.Close())
	}
	for _, method := range []string{http.MethodTrace, "get", "Get"} {
		resp, _ := b.ask(t, method, "/weather/oslo", false)
		require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode, method)
	}
	require.Zero(t, sold.Load())
}

// TestRequestsOfNoRouteAreRefused and never reach the upstream; preflights of routes do.
func TestRequestsOfNoRouteAreRefused(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	b := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }),
		priced("GET /weather", "0.60"), priced("POST /weather", "0.70"))
	for request, want := range map[string]int{"GET /": 404, "DELETE /weather": 405, "POST /weather": 402, "HEAD /weather": 402, "GET /openapi.json": 200, "GET /llms.txt": 200} {
		method, path, _ := strings.Cut(request, " ")
		resp, _ := b.ask(t, method, path, false)
		require.Equal(t, want, resp.StatusCode, request)
	}
	require.Zero(t, served.Load())
	resp, _ := b.ask(t, http.MethodOptions, "/weather", false, "Origin", "https://app.example", "Access-Control-Request-Method", "GET")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.EqualValues(t, 1, served.Load())
	_, listed := b.ask(t, http.MethodGet, "/openapi.json", false)
	require.Contains(t, listed, `"/weather"`)
}

// TestUpgradeNeedsPayment: a WebSocket opens once it is paid, and then both sides talk.
func TestUpgradeNeedsPayment(t *testing.T) {
	t.Parallel()
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := rw.ReadString('\n')
		fmt.Fprint(c, "echo "+line)
	}), priced("GET /socket", "0.60"))
	upgrade := func(credential string) (net.Conn, *bufio.Reader, *http.Response) {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
		require.NoError(t, err)
		fmt.Fprintf(c, "GET /socket HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%s\r\n", credential)
		in := bufio.NewReader(c)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		return c, in, resp
	}
	c, _, resp := upgrade("")
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	require.NoError(t, c.Close())
	c, in, resp := upgrade("X-Service-Mandate: " + b.mandate + "\r\n")
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	fmt.Fprintln(c, "hello")
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "echo hello\n", line)
	require.NoError(t, c.Close())
	require.EqualValues(t, 60, b.paidCents(t))
}

// TestUpstreamMetersByHeaderOrTrailer: the person pays what the upstream counted.
func TestUpstreamMetersByHeaderOrTrailer(t *testing.T) {
	t.Parallel()
	route := priced("GET /answer", "2.00")
	route.Paid.Metered = true
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Payment-Used", "0.50")
		w.Header().Set("Trailer", "X-Payment-Used, X-Other")
		if r.URL.Query().Has("bad") {
			w.Header().Set("X-Payment-Used", "much")
		}
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("X-Payment-Used", "0.70")
		w.Header().Set("X-Other", "kept")
	}), route)
	resp, body := b.ask(t, http.MethodGet, "/answer", true)
	require.Equal(t, []any{http.StatusOK, "data: 1\n\n"}, []any{resp.StatusCode, body})
	require.Empty(t, resp.Header.Get("X-Payment-Used")+resp.Trailer.Get("X-Payment-Used"))
	require.Equal(t, "kept", resp.Trailer.Get("X-Other"))
	require.EqualValues(t, 120, b.paidCents(t))
	_, _ = b.ask(t, http.MethodGet, "/answer?bad", true)
	require.EqualValues(t, 190, b.paidCents(t), "what is no amount counts nothing, and the rest counts")
}

// TestPaymentSurvivesAnUpstreamThatIsDown: it is answered 502 and stays good.
func TestPaymentSurvivesAnUpstreamThatIsDown(t *testing.T) {
	t.Parallel()
	var healthy atomic.Bool
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !healthy.Load() {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		fmt.Fprint(w, "sunny")
	}), priced("GET /weather", "0.60"))
	resp, body := b.ask(t, http.MethodGet, "/weather", true)
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.Contains(t, body, "upstream_unavailable")
	healthy.Store(true)
	resp, body = b.ask(t, http.MethodGet, "/weather", true)
	require.Equal(t, []any{http.StatusOK, "sunny"}, []any{resp.StatusCode, body})
	require.EqualValues(t, 60, b.paidCents(t), "paid once")
	require.NoError(t, b.proxy.Ready(t.Context()))
}

// TestLoadKeepsRunningRequests: a request ends under the configuration with which it began, and
// a configuration with an error changes nothing.
func TestLoadKeepsRunningRequests(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-goOn
		}
		fmt.Fprint(w, "served")
	}), priced("GET /slow", "0.60"))
	done := make(chan int, 1)
	go func() {
		resp, _ := b.ask(t, http.MethodGet, "/slow", true)
		done <- resp.StatusCode
	}()
	<-begun
	next := b.config
	next.Routes = []gateproxy.Route{priced("GET /new", "0.80"), {Pattern: "GET /slow", Free: true}}
	require.NoError(t, b.proxy.Load(next))
	resp, _ := b.ask(t, http.MethodGet, "/new", false)
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	wrong := next
	wrong.Routes = []gateproxy.Route{priced("GET /new", "0.80"), priced("GET /new", "0.90")}
	require.ErrorContains(t, b.proxy.Load(wrong), `routes[1] "GET /new"`)
	close(goOn)
	require.Equal(t, http.StatusOK, <-done)
	require.EqualValues(t, 60, b.paidCents(t))
	resp, _ = b.ask(t, http.MethodGet, "/new", true)
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

func TestConfigErrorsNameTheField(t *testing.T) {
	t.Parallel()
	good := func() gateproxy.Config {
		return gateproxy.Config{
			Upstream: "http://127.0.0.1:1", Routes: []gateproxy.Route{priced("GET /x", "0.01")},
			Paywall: paywall.Config{Origin: "https://api.example.com", PayTo: wallet, APIURL: "https://pay.example"},
		}
	}
	for want, change := range map[string]func(*gateproxy.Config){
		"upstream: is required":    func(c *gateproxy.Config) { c.Upstream = "" },
		"want http:// or https://": func(c *gateproxy.Config) { c.Upstream = "localhost:3000" },
		"upstream: must have no":   func(c *gateproxy.Config) { c.Upstream = "http://u:p@host" },
		"origin: is required":      func(c *gateproxy.Config) { c.Paywall.Origin = "" },
		"facts_key_file: the key":  func(c *gateproxy.Config) { c.FactsKey = []byte("short") },
		"timeout: must not":        func(c *gateproxy.Config) { c.Timeout = -1 },
		"routes: none has a price": func(c *gateproxy.Config) { c.Routes[0].Free = true },
		`routes[0] "x": want`:      func(c *gateproxy.Config) { c.Routes[0].Pattern = "x" },
		`routes[0] "get /x": `:     func(c *gateproxy.Config) { c.Routes[0].Pattern = "get /x" },
		`routes[0] "GET /{": `:     func(c *gateproxy.Config) { c.Routes[0].Pattern = "GET /{" },
		`routes[1] "GET /y": `:     func(c *gateproxy.Config) { c.Routes = append(c.Routes, priced("GET /y", "free")) },
		"in case only":             func(c *gateproxy.Config) { c.Routes = append(c.Routes, priced("GET /X", "0.02")) },
		"Metered: needs Merchant":  func(c *gateproxy.Config) { c.Routes[0].Paid.Metered = true },
		"PayTo":                    func(c *gateproxy.Config) { c.Paywall.PayTo = "0x1" },
	} {
		c := good()
		change(&c)
		require.ErrorContains(t, gateproxy.New(gateproxy.Options{}).Load(c), want)
	}
	require.NoError(t, gateproxy.New(gateproxy.Options{}).Load(good()))
}
