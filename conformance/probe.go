package conformance

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Limits on what is read of a server.
const (
	maxBody    = 1 << 20   // bytes of a body
	maxHeaders = 256 << 10 // bytes of all headers
)

// probe asks one server and keeps the answers, so that rules share them.
type probe struct {
	cfg    Config
	target *url.URL
	client *http.Client
	idle   func()

	exchanges map[string]*exchange
	challenge *challenge
	poor      *poorWallet
	payments  map[string]*payment
	replayed  bool // the server serves one payment twice

	directories []string      // of the doctor
	resolver    *net.Resolver // of the doctor

	signed, paid int64 // millionths of a dollar
}

// exchange is one answer, or the error if there is none.
type exchange struct {
	status int
	header http.Header
	body   []byte
	cut    bool // the body is longer
	took   time.Duration
	err    error
}

func newProbe(c Config, target *url.URL) *probe {
	p := &probe{cfg: c, target: target, idle: func() {}, exchanges: map[string]*exchange{}, payments: map[string]*payment{}}
	rt := c.Transport
	if rt == nil {
		own := transport()
		rt, p.idle = own, own.CloseIdleConnections
	}
	p.client = &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p
}

func (p *probe) close() { p.idle() }

// plain returns the answer to the request without a payment.
func (p *probe) plain(ctx context.Context) *exchange { return p.ask(ctx, "plain", p.cfg.Method, nil) }

// ask sends the request with a method and headers, once per name.
func (p *probe) ask(ctx context.Context, name, method string, header http.Header) *exchange {
	if e, ok := p.exchanges[name]; ok {
		return e
	}
	e := p.send(ctx, method, p.target.String(), header, p.cfg.Timeout)
	p.exchanges[name] = e
	return e
}

// send sends one request. Only requests to the endpoint with its own method have the body.
func (p *probe) send(ctx context.Context, method, address string, header http.Header, timeout time.Duration) *exchange {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var body io.Reader = http.NoBody
	if method == p.cfg.Method && address == p.target.String() && len(p.cfg.Body) > 0 {
		body = bytes.NewReader(p.cfg.Body)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return &exchange{err: err}
	}
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	r.Header.Set("User-Agent", "paywarrant-validate")
	if body != http.NoBody {
		r.Header.Set("Content-Type", p.cfg.ContentType)
	}
	maps.Copy(r.Header, header)
	start := time.Now()
	resp, err := p.client.Do(r)
	if err != nil {
		return &exchange{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	e := &exchange{status: resp.StatusCode, header: resp.Header, took: time.Since(start)}
	// A body that breaks off is judged as far as it was read.
	e.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if e.cut = len(e.body) > maxBody; e.cut {
		e.body = e.body[:maxBody]
	}
	return e
}

// asked returns the challenge of the request without a payment, or the verdict of every rule
// that needs one.
func (p *probe) asked(ctx context.Context) (*challenge, verdict) {
	e := p.plain(ctx)
	if e.err != nil || e.status != http.StatusPaymentRequired {
		return nil, skip("the endpoint did not answer 402")
	}
	if p.challenge == nil {
		p.challenge = readChallenge(e)
	}
	return p.challenge, verdict{}
}

// address returns an address of the same origin.
func (p *probe) address(path string) string {
	return (&url.URL{Scheme: p.target.Scheme, Host: p.target.Host, Path: path}).String()
}
