package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of [Client.Fetch].
const (
	// MaxFetch is the longest answer, in bytes.
	MaxFetch = 10 << 20
	// FetchTimeout bounds a fetch, payment and redirects included.
	FetchTimeout = 30 * time.Second
	// MaxRedirects is how many redirects are followed.
	MaxRedirects = 5
)

// Client fetches and pays, with limits on size and time: the toolkit behind an
// agent's tools. Safe for concurrent use.
type Client struct {
	transport *Transport
	http      *http.Client
}

// New makes a client. It sends nothing. An error that names the field of the
// configuration that is wrong.
func New(c Config) (*Client, error) {
	t := NewTransport(c)
	if t.broken != nil {
		return nil, t.broken
	}
	return &Client{transport: t, http: &http.Client{Transport: t, CheckRedirect: checkRedirect}}, nil
}

// checkRedirect follows few redirects, and none from https to http.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return fmt.Errorf("more than %d redirects", MaxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return errors.New("a redirect from https to " + r.URL.Scheme)
	}
	return checkFetch(r.URL)
}

func checkFetch(u *url.URL) error {
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return errors.New("want an http or https URL without user and password")
	}
	return nil
}

// Do sends a request as an http.Client does, paying on the way. The answer
// streams, and its body is to be closed. Errors as [Transport.RoundTrip], wrapped
// in a *url.Error.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	return c.http.Do(r) //nolint:gosec // the request is the caller's; what it may reach is DialContext's to say
}

// CloseIdleConnections closes the connections that no request is using.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// FetchParams is what to fetch.
type FetchParams struct {
	URL string
	// Method. Default: GET, or POST with a body.
	Method string
	// Body is sent as ContentType. Default: none; application/json.
	Body        []byte
	ContentType string
	// MaxPriceMicros lowers the limit of the configuration for this fetch. Default: it stays.
	MaxPriceMicros int64
}

// Fetched is an answer, read whole.
type Fetched struct {
	Status      int
	ContentType string
	Content     []byte
	Header      http.Header
	// Receipt is nil where nothing was paid.
	Receipt *Receipt
}

// Fetch fetches a URL and pays for it where that is asked: at most [MaxFetch]
// bytes, in [FetchTimeout]. That the answer is an error of the server is no error
// here: see Status. What was paid is told also with an error that came after.
//
// Errors: [ErrTooLarge], errors of the URL, and those of [Transport.RoundTrip].
func (c *Client) Fetch(ctx context.Context, p FetchParams) (Fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	r, err := p.request(ctx)
	if err != nil {
		return Fetched{}, err
	}
	if limit := p.MaxPriceMicros; limit > 0 && limit < c.transport.cfg.MaxPriceMicros {
		r = r.WithContext(context.WithValue(ctx, limitKey{}, limit))
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return Fetched{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	f := Fetched{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: resp.Header}
	if receipt, ok := ReceiptFrom(resp); ok {
		f.Receipt = &receipt
	}
	f.Content, err = io.ReadAll(io.LimitReader(resp.Body, MaxFetch+1))
	if err != nil {
		return f, fmt.Errorf("agent: read the answer: %w", err)
	}
	if len(f.Content) > MaxFetch {
		f.Content = nil
		return f, fmt.Errorf("agent: fetch: %w: more than %d bytes", ErrTooLarge, MaxFetch)
	}
	return f, nil
}

type limitKey struct{}

// maxPrice is the limit of one request.
func (t *Transport) maxPrice(ctx context.Context) int64 {
	if limit, ok := ctx.Value(limitKey{}).(int64); ok {
		return min(limit, t.cfg.MaxPriceMicros)
	}
	return t.cfg.MaxPriceMicros
}

func (p FetchParams) request(ctx context.Context) (*http.Request, error) {
	method := strings.ToUpper(p.Method)
	if method == "" {
		method = http.MethodGet
		if len(p.Body) > 0 {
			method = http.MethodPost
		}
	}
	var content io.Reader = http.NoBody
	if len(p.Body) > 0 {
		content = newReader(p.Body)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.URL, content)
	if err != nil {
		return nil, fmt.Errorf("agent: fetch: %w", err)
	}
	if err := checkFetch(r.URL); err != nil {
		return nil, fmt.Errorf("agent: fetch: %w", err)
	}
	if len(p.Body) > 0 {
		if p.ContentType == "" {
			p.ContentType = "application/json"
		}
		r.Header.Set("Content-Type", p.ContentType)
	}
	return r, nil
}
