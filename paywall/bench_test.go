package paywall_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// discard is a ResponseWriter that costs next to nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkAsk measures the 402 answer alone, on top of a bare handler.
func BenchmarkAsk(b *testing.B) {
	w := setup(b, nil)
	h := w.protected(w.gate)
	r := request(http.MethodGet)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(&discard{header: http.Header{}}, r)
	}
}

// BenchmarkHTTP compares the 402 answer with a bare handler over HTTP.
func BenchmarkHTTP(b *testing.B) {
	w := setup(b, nil)
	bare := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"temperature":7}`) })
	for _, each := range []struct {
		name    string
		handler http.Handler
	}{{"bare", bare}, {"402", w.protected(w.gate)}} {
		b.Run(each.name, func(b *testing.B) {
			srv := httptest.NewServer(each.handler)
			defer srv.Close()
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, srv.URL, http.NoBody)
					require.NoError(b, err)
					resp, err := srv.Client().Do(req)
					require.NoError(b, err)
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			})
		})
	}
}
