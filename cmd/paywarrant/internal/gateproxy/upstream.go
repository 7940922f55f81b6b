package gateproxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
)

const (
	// idlePerHost is how many idle connections to the upstream are kept.
	idlePerHost = 256
	// dialTimeout is how long the upstream may take to accept a connection.
	dialTimeout = 5 * time.Second
	// copyBuffer is the size of the buffers that responses are copied through.
	copyBuffer = 32 << 10
)

// upstream sends requests to the service that is charged for.
type upstream struct {
	*httputil.ReverseProxy

	target    *url.URL
	public    *url.URL // Origin
	trusted   []netip.Prefix
	facts     *facts
	transport *http.Transport
	log       *slog.Logger
}

func newUpstream(c Config, o Options) (*upstream, error) {
	target, err := c.target()
	if err != nil {
		return nil, err
	}
	public, err := url.Parse(c.Paywall.Origin)
	if err != nil {
		return nil, errors.New("origin: is not a URL")
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	u := &upstream{
		target: target, public: public, trusted: c.Paywall.TrustedProxies, facts: newFacts(c, o.Clock), log: o.Logger,
		transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: dialTimeout,
			ResponseHeaderTimeout: timeout, DisableCompression: true, ForceAttemptHTTP2: true,
		},
	}
	u.ReverseProxy = &httputil.ReverseProxy{
		Rewrite: u.rewrite, Transport: u.transport, ModifyResponse: u.meter, ErrorHandler: u.failed, BufferPool: &buffers{},
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
	}
	return u, nil
}

// rewrite makes the request for the upstream.
func (u *upstream) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(u.target)
	h := r.Out.Header
	for name := range h {
		if reserved(name) {
			delete(h, name)
		}
	}
	if u.trusts(r.In.RemoteAddr) {
		h["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	}
	r.SetXForwarded()
	h.Set("X-Forwarded-Host", u.public.Host)
	h.Set("X-Forwarded-Proto", u.public.Scheme)
	note(r.Out.Context(), free)
	if p, ok := paywall.PaymentFrom(r.Out.Context()); ok {
		note(r.Out.Context(), paid)
		u.facts.add(r.Out.Context(), h, r.In, p, u.log)
	}
}

// overrides are headers by which frameworks take another method or path than that of the
// request line, for which the client would not have paid.
var overrides = []string{
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url", "X-Original-Uri", "X-Original-Method",
}

// reserved reports whether a client's header is not passed on: an override, or one that the
// gate sets. Many servers read an underscore as a dash.
func reserved(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return strings.HasPrefix(name, "X-Payment-") || slices.Contains(overrides, name) ||
		strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded"
}

// trusts reports whether a connection is that of a trusted proxy.
func (u *upstream) trusts(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && slices.ContainsFunc(u.trusted, func(p netip.Prefix) bool { return p.Contains(at.Addr().Unmap()) })
}

// failed answers a request that the upstream did not answer. A payment stays good for a
// repetition.
func (u *upstream) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		w.WriteHeader(http.StatusBadGateway) // the client has left; the gate counts it as not served
		return
	}
	note(r.Context(), upstreamError)
	u.log.ErrorContext(r.Context(), "upstream failed", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		refuse(w, http.StatusGatewayTimeout, "upstream_timeout", "The service behind the gate did not answer in time. A payment stays valid: send the same credential again.")
		return
	}
	refuse(w, http.StatusBadGateway, "upstream_unavailable", "The service behind the gate did not answer. A payment stays valid: send the same credential again.")
}

// dial reports whether the upstream takes connections.
func (u *upstream) dial(ctx context.Context) error {
	port := u.target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.target.Scheme]
	}
	c, err := u.transport.DialContext(ctx, "tcp", net.JoinHostPort(u.target.Hostname(), port))
	if err != nil {
		return err
	}
	return c.Close()
}

// ambiguous reports whether servers read the path of a URL in different ways, so that the
// upstream could serve another than the one that was paid for.
func ambiguous(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if !strings.HasPrefix(escaped, "/") || strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") {
		return true
	}
	if strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return true
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
			return true
		}
	}
	return false
}

// buffers are reused between responses.
type buffers struct{ pool sync.Pool }

// Get returns a buffer.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, copyBuffer)
}

// Put takes a buffer back.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
