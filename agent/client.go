package agent

import (
	"bytes"
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
	// MaxFetch is the maximum size of a response, in bytes.
	MaxFetch = 10 << 20
	// FetchTimeout limits a fetch, including payment and redirects.
	FetchTimeout = 30 * time.Second
	// MaxRedirects is the maximum number of redirects.
	MaxRedirects = 5
)

// Client fetches and pays, with limits on size, time and addresses. It is the basis of
// an agent's tools. It is safe for concurrent use.
type Client struct {
	transport *Transport
	http      *http.Client
}

// New returns a Client that connects to public addresses only, unless AllowPrivate is
// set. It performs no I/O. The returned error names the invalid field.
func New(c Config) (*Client, error) {
	c, err := c.publicOnly()
	if err != nil {
		return nil, err
	}
	t, err := NewTransport(c)
	if err != nil {
		return nil, err
	}
	return &Client{transport: t, http: &http.Client{Transport: t, CheckRedirect: checkRedirect}}, nil
}

// checkRedirect follows up to MaxRedirects redirects, and none from https to http.
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

// Do sends a request as an http.Client does, and pays if a payment is required. The
// caller must close the response's body. Errors are those of [Transport.RoundTrip],
// wrapped in a *url.Error.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	return c.http.Do(r) //nolint:gosec // the request is the caller's; the dialer decides what it may reach
}

// CloseIdleConnections closes connections that no request is using.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// FetchParams are the parameters of [Client.Fetch].
type FetchParams struct {
	// URL is the http or https address to fetch. Required.
	URL string
	// Method is the HTTP method. Default: GET, or POST with a body.
	Method string
	// Body is the request's body. Default: none.
	Body []byte
	// ContentType is the type of Body. Default: application/json.
	ContentType string
	// MaxPriceMicros lowers the configured limit for this fetch, in millionths of a US
	// dollar. Default: the configured limit.
	MaxPriceMicros int64
}

// Fetched is a complete response.
type Fetched struct {
	// Status is the HTTP status.
	Status int
	// ContentType is the type of Content.
	ContentType string
	// Content is the response's body.
	Content []byte
	// Header is the response's header.
	Header http.Header
	// Receipt is the last payment. It is nil if nothing was paid.
	Receipt *Receipt
}

// Fetch fetches a URL, and pays if a payment is required. It reads at most [MaxFetch]
// bytes and takes at most [FetchTimeout]. A response with an error status is not an
// error: check Status. If a payment was made, Receipt is set even when a later error is
// returned.
//
// It returns [ErrTooLarge], errors of the URL, and those of [Transport.RoundTrip].
func (c *Client) Fetch(ctx context.Context, p FetchParams) (f Fetched, err error) {
	ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	if p.MaxPriceMicros > 0 {
		ctx = WithMaxPrice(ctx, p.MaxPriceMicros)
	}
	paid := &receipts{}
	r, err := p.request(context.WithValue(ctx, receiptsKey{}, paid))
	if err != nil {
		return Fetched{}, err
	}
	defer func() { f.Receipt = paid.latest() }()
	resp, err := c.http.Do(r)
	if err != nil {
		return Fetched{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	f = Fetched{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: resp.Header}
	f.Content, err = io.ReadAll(io.LimitReader(resp.Body, MaxFetch+1))
	if err != nil {
		return f, fmt.Errorf("agent: read the answer: %w", err)
	}
	if receipt, ok := ReceiptFrom(resp); ok && len(resp.Trailer) > 0 { // which the body's end completed
		paid.add(receipt)
	}
	if len(f.Content) > MaxFetch {
		f.Content = nil
		return f, fmt.Errorf("agent: fetch: %w: more than %d bytes", ErrTooLarge, MaxFetch)
	}
	return f, nil
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
		content = bytes.NewReader(p.Body)
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
