package paywall_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

func TestCRLFAndQuotesInChallengeParameters(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for _, bad := range []string{"a\r\nSet-Cookie: x=1", "a\nb", "a\x00b"} {
		cfg := w.config()
		cfg.Discovery = discovery()
		cfg.Discovery.Description = bad
		_, err := paywall.New(cfg)
		require.ErrorContains(t, err, "Discovery.Description", bad)
	}
	g := w.newGate(func(c *paywall.Config) {
		c.Discovery = discovery()
		c.Discovery.Description = `say "hi", \o/ Payment id="x"`
	})
	require.Equal(t, `say "hi", \o/ Payment id="x"`, challengeOf(t, w.through(g)).Description)
}

func TestUnknownErrorAnsweredAs402WithItsText(t *testing.T) {
	t.Parallel()
	boom := errors.New("dial tcp 10.0.0.7: password=hunter2")
	w := setup(t, func(c *paywall.Config) { c.Settler = settler{err: boom} })
	for name, c := range credentials() {
		if name == "x402 v2" {
			continue // by the external facilitator
		}
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.Equal(t, http.StatusBadGateway, rec.Code, name)
		require.NotContains(t, rec.Body.String(), "hunter2", name)
	}
	g := w.newGate(func(c *paywall.Config) {
		c.PriceFunc = func(*http.Request) (string, error) { return "", boom }
	})
	rec := w.through(g)
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.NotContains(t, rec.Body.String(), "hunter2")
	require.Zero(t, w.served.Load())
}

func TestBodyReadWithoutLimit(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	r := request(http.MethodPost, "PAYMENT-SIGNATURE", "garbage")
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) { t.Fatal("the gate read the body"); return 0, io.EOF }))
	require.Equal(t, 400, w.send(w.gate, r).Code)

	// Nor an answer of the service.
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
		chunk := []byte(strings.Repeat(" ", 64<<10))
		for range 64 {
			if _, err := rw.Write(chunk); err != nil {
				return true
			}
		}
		return true
	})
	require.Equal(t, 502, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
	require.Equal(t, 502, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestHeadersOfAFailedHandlerLeakIntoThe402(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		fail := true
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Secret", "of the handler")
			rw.Header().Set("Set-Cookie", "a=b")
			if fail {
				rw.Header().Set("Retry-After", "99")
				http.Error(rw, "broken", http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(rw, "sunny")
		}
		paid := c.pay(w, w.gate)
		require.Equal(t, 500, w.ask(c.header, paid).Code)
		fail = false
		require.Equal(t, 200, w.ask(c.header, paid).Code)
		rec := w.ask(c.header, paid)
		require.Equal(t, 402, rec.Code)
		require.Empty(t, rec.Result().Header.Get("X-Secret"))
		require.Empty(t, rec.Result().Header.Get("Set-Cookie"))
		require.Empty(t, rec.Result().Header.Get("Retry-After"))
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

func TestRetryAfterOfA503LeftOnA500(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	c := credentials()["x402 v1"]
	paid := c.pay(w, w.gate)
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
		rw.Header().Set("Retry-After", "77")
		rw.WriteHeader(503)
		return true
	})
	require.Equal(t, "77", w.ask(c.header, paid).Result().Header.Get("Retry-After"))
	w.service.bend(nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	rec := w.ask(c.header, paid)
	require.Equal(t, 500, rec.Code)
	require.Empty(t, rec.Result().Header.Get("Retry-After"))
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
