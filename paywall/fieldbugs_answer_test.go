package paywall_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

func TestCRLFAndQuotesInChallengeParameters(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	fields := map[string]func(c *paywall.Config, text string){
		"Discovery.Description": func(c *paywall.Config, text string) { c.Discovery = discovery(); c.Discovery.Description = text },
		"Resource":              func(c *paywall.Config, text string) { c.Resource = "https://api.example.com/" + text },
		"MimeType":              func(c *paywall.Config, text string) { c.MimeType = "text/" + text },
	}
	for name, set := range fields {
		for _, bad := range []string{"a\r\nSet-Cookie: x=1", "a\nb", "a\x00b"} {
			cfg := w.config()
			set(&cfg, bad)
			_, err := paywall.New(cfg)
			require.ErrorContains(t, err, name, bad)
		}
		for _, odd := range []string{`say "hi", \o Payment id="x"`, `",x="y`, `\`, `a, Basic realm="b"`} {
			g := w.newGate(func(c *paywall.Config) { set(c, odd) })
			rec := w.through(g)
			c := challengeOf(t, rec)
			require.Equal(t, "api.example.com", c.Realm, odd)
			two, err := x402.DecodePaymentRequired(rec.Header().Get("PAYMENT-REQUIRED"))
			require.NoError(t, err)
			require.Contains(t, []string{c.Description, strings.TrimPrefix(two.Resource.URL, "https://api.example.com/"), strings.TrimPrefix(two.Resource.MimeType, "text/")}, odd, name)
		}
	}
	_, err := paywall.New(func() paywall.Config { c := w.config(); c.Resource = "https://a\"b.example/"; return c }())
	require.ErrorContains(t, err, "Resource", "a realm")

	g := w.newGate(func(c *paywall.Config) {
		c.Resource, c.ResourceFunc = "", func(r *http.Request) (string, error) { return resource + r.Header.Get("X-Path"), nil }
	})
	for path, status := range map[string]int{"/a%0d%0aSet-Cookie:x": 402, "/a\r\nSet-Cookie: x": 500, "/\x00": 500} {
		rec := w.through(g, "X-Path", path)
		require.Equal(t, status, rec.Code, path)
		require.Empty(t, rec.Header().Get("Set-Cookie"))
	}
}

func TestUnknownErrorAnsweredAs402WithItsText(t *testing.T) {
	t.Parallel()
	boom := errors.New("dial tcp 10.0.0.7: password=hunter2")
	unknown := func(w *world, c credential, name string) {
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.Equal(t, http.StatusBadGateway, rec.Code, name)
		require.NotContains(t, rec.Body.String(), "hunter2", name)
		require.NotContains(t, fmt.Sprint(rec.Header()), "hunter2", name)
		require.Zero(t, w.served.Load())
	}
	w := setup(t, func(c *paywall.Config) { c.Settler = settler{err: boom} })
	for name, c := range credentials() {
		unknown(w, c, name)
	}
	external := setup(t, func(c *paywall.Config) {
		c.ExternalFacilitator, c.HTTPClient = "http://127.0.0.1:1/x402", &http.Client{Transport: fails{boom}}
	})
	unknown(external, credentials()["x402 v2"], "verify outside")
	external.gate = external.newGate(func(c *paywall.Config) {
		c.ExternalFacilitator, c.HTTPClient = "http://127.0.0.1:1/x402", &http.Client{Transport: fails{boom}}
		c.HTTPClient.Transport = verifiesAnd{boom}
	})
	unknown(external, credentials()["x402 v2"], "settle outside")

	g := w.newGate(func(c *paywall.Config) {
		c.PriceFunc = func(*http.Request) (string, error) { return "", boom }
	})
	rec := w.through(g)
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.NotContains(t, rec.Body.String(), "hunter2")
}

// fails is a network that answers nothing.
type fails struct{ err error }

func (f fails) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// verifiesAnd is one whose facilitator verifies, and fails to settle.
type verifiesAnd struct{ err error }

func (f verifiesAnd) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/verify") {
		return nil, f.err
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Retry-After": {f.err.Error()}}, Body: io.NopCloser(strings.NewReader(`{"isValid":true}`)),
	}, nil
}

func TestBodyReadWithoutLimit(t *testing.T) {
	t.Parallel()
	out := &endless{}
	w := setup(t, nil)
	r := request(http.MethodPost, "PAYMENT-SIGNATURE", "garbage")
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) { t.Fatal("the gate read the body"); return 0, io.EOF }))
	require.Equal(t, 400, w.send(w.gate, r).Code)

	// Nor an answer of the service, however long it goes on.
	token := w.service.mandate(nil).Reveal()
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code, "so that its keys are known")
	out.RoundTripper = w.service.Client().Transport
	g := w.newGate(func(c *paywall.Config) { c.HTTPClient = &http.Client{Transport: out} })
	for header, paid := range map[string]string{
		"X-PAYMENT": w.payX402V1(g, nil), "PAYMENT-SIGNATURE": w.payX402(g, nil), "X-Service-Mandate": token,
	} {
		out.read.Store(0)
		require.Equal(t, 502, w.through(g, header, paid).Code, header)
		require.NotZero(t, out.read.Load(), header)
		require.LessOrEqual(t, out.read.Load(), int64(512<<10), header)
	}
}

// endless answers every POST with a success that has no end within 16 MiB.
type endless struct {
	http.RoundTripper
	read atomic.Int64
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return e.RoundTripper.RoundTrip(r)
	}
	start := strings.NewReader(fmt.Sprintf(`{"isValid":true,"success":true,"transaction":%q,"network":"base-sepolia","transactionId":"txn_1"`, transaction(1)))
	spaces := readerFunc(func(p []byte) (int, error) {
		for i := range p {
			p[i] = ' '
		}
		if e.read.Add(int64(len(p))) > 16<<20 {
			return 0, io.EOF
		}
		return len(p), nil
	})
	return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(start, spaces, strings.NewReader("}")))}, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// If a handler runs before the money moves, its headers are in the answer that
// then asks for money. Here the 402 of a payment that failed has the same headers as
// one before which no handler ever ran, over one connection.
func TestHeadersOfAFailedHandlerLeakIntoThe402(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		srv := httptest.NewServer(w.protected(w.gate))
		t.Cleanup(srv.Close)
		send := func(headers ...string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
			require.NoError(t, err)
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			resp, err := srv.Client().Do(r)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			require.NoError(t, resp.Body.Close())
			return resp
		}
		names := func(resp *http.Response) []string {
			require.Equal(t, 402, resp.StatusCode)
			return slices.Sorted(maps.Keys(resp.Header))
		}
		refusal := func() *http.Response {
			w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
				_, _ = io.WriteString(rw, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"base-sepolia"}`)
				return true
			})
			defer w.service.bend(nil)
			return send(c.header, c.pay(w, w.gate))
		}
		before := names(refusal())
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Secret", "of the handler")
			rw.Header().Set("Set-Cookie", "a=b")
			rw.Header().Set("Retry-After", "99")
			http.Error(rw, "broken", http.StatusInternalServerError)
		}
		paid := c.pay(w, w.gate)
		failed := send(c.header, paid)
		require.Equal(t, []any{500, "of the handler"}, []any{failed.StatusCode, failed.Header.Get("X-Secret")})
		require.NotEmpty(t, failed.Header.Get(c.told), "the payment was made all the same")
		require.Equal(t, before, names(refusal()))
		w.handler = sunny
		require.Equal(t, 200, send(c.header, paid).StatusCode)
		spent := names(send(c.header, paid))
		require.Subset(t, before, spent)
	})
}

func TestResponseWriterWrapperThatBreaksFlushSSEHijack(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	step := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/stream", w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.Header().Set("Trailer", "X-Sum")
		rc := http.NewResponseController(rw)
		_, _ = io.WriteString(rw, "data: one\n\n")
		if rc.Flush() != nil || rc.SetWriteDeadline(time.Now().Add(time.Minute)) != nil || rc.EnableFullDuplex() != nil {
			panic("the controller does not work")
		}
		<-step
		_, _ = io.WriteString(rw, "data: two\n\n")
		rw.(http.Flusher).Flush()
		rw.Header().Set("X-Sum", "2")
	})))
	mux.Handle("/hijack", w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\n\r\nhello\n")
		_ = buffered.Flush()
		_ = conn.Close()
	})))
	mux.Handle("/file", w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if _, ok := rw.(io.ReaderFrom); !ok {
			panic("no sendfile")
		}
		_, _ = io.Copy(rw, strings.NewReader("contents"))
	})))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	get := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("X-PAYMENT", w.payX402V1(w.gate, nil))
		resp, err := srv.Client().Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	stream := get("/stream")
	require.Equal(t, 200, stream.StatusCode)
	lines := bufio.NewReader(stream.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "data: one\n", line, "the first event arrives before the second is written")
	close(step)
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "\ndata: two\n\n", string(rest))
	require.Equal(t, "2", stream.Trailer.Get("X-Sum"))

	upgraded := get("/hijack")
	require.Equal(t, http.StatusSwitchingProtocols, upgraded.StatusCode)
	contents, err := io.ReadAll(get("/file").Body)
	require.NoError(t, err)
	require.Equal(t, "contents", string(contents))
}

// Within one request: the first answer of the service asks to wait, the second look
// finds the payment, and then the handler fails.
func TestRetryAfterOfA503LeftOnA500(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		pending := true
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
			settle()
			rw.Header().Set("Retry-After", "77")
			if pending {
				pending = false
				_, _ = fmt.Fprintf(rw, `{"success":false,"errorReason":"settlement_pending","transaction":%q,"network":"base-sepolia"}`, transaction(1))
				return true
			}
			return false
		})
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Retry-After", "Idempotency-Key", "Content-Length", "PAYMENT-REQUIRED", "WWW-Authenticate"} {
				require.Empty(t, rw.Header().Get(name))
			}
			rw.WriteHeader(500)
		}
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.False(t, pending)
		require.Equal(t, 500, rec.Code)
		require.Empty(t, rec.Result().Header.Get("Retry-After"))
	})
}

func TestPaidAnswersAreNeverKeptForOthers(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		for said, want := range map[string]string{
			"":                                  "private",
			"public, max-age=3600":              "private, max-age=3600",
			"max-age=60, s-maxage=600":          "private, max-age=60",
			"no-store":                          "private, no-store",
			"Private, must-revalidate":          "private, must-revalidate",
			"PUBLIC, proxy-revalidate, max-age": "private, max-age",
		} {
			for _, write := range []func(http.ResponseWriter){
				func(rw http.ResponseWriter) { _, _ = io.WriteString(rw, "x") },
				func(rw http.ResponseWriter) { rw.WriteHeader(204) },
				func(rw http.ResponseWriter) { rw.(http.Flusher).Flush() },
				func(http.ResponseWriter) {},
			} {
				w.handler = func(rw http.ResponseWriter, _ *http.Request) {
					if said != "" {
						rw.Header().Set("Cache-Control", said)
					}
					rw.Header().Set("Vary", "Accept-Encoding")
					write(rw)
				}
				rec := w.ask(c.header, c.pay(w, w.gate))
				require.Equal(t, want, rec.Result().Header.Get("Cache-Control"), said)
				require.Contains(t, strings.Join(rec.Result().Header.Values("Vary"), ", "), "X-PAYMENT")
			}
		}
	})
}
