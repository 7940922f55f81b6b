package gateproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/gateproxy"
	"github.com/paywarrant/paywarrant/paywall"
)

// BenchmarkProxy compares a free request through the gate, and one that is asked for payment,
// with a bare reverse proxy.
func BenchmarkProxy(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	require.NoError(b, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	bare := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded() }}
	gate := gateproxy.New(gateproxy.Options{})
	require.NoError(b, gate.Load(gateproxy.Config{
		Upstream: upstream.URL, Routes: []gateproxy.Route{priced("GET /weather", "0.01"), {Pattern: "GET /free", Free: true}},
		Paywall: paywall.Config{Origin: "https://api.example.com", PayTo: wallet, APIURL: "http://127.0.0.1:1", TestMode: true},
	}))
	for _, one := range []struct {
		name, path string
		h          http.Handler
	}{{"bare", "/free", bare}, {"free", "/free", gate}, {"unpaid", "/weather", gate}} {
		b.Run(one.name, func(b *testing.B) {
			front := httptest.NewServer(one.h)
			defer front.Close()
			c := front.Client()
			c.Transport.(*http.Transport).MaxIdleConnsPerHost = 256
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := c.Get(front.URL + one.path)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			})
		})
	}
}
