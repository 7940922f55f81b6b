// Package node calls a chain's node over JSON-RPC, for [chain.Config]:
//
//	n, err := node.New(node.Config{URL: "https://node.example/secret"})
//	defer n.Close()
//	rail, err := chain.New(chain.Config{RPC: n, …})
//
// Every call ends with its context or after Config.Timeout. Answers are bounded,
// redirects are not followed, and errors name only the node's host, since the paths of
// such URLs are often secrets.
//
// The URL must lead to one node. The rail decides about money from the node's answers,
// and nodes at different blocks contradict each other. A load balancer must keep a
// client on one node.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/paywarrant/paywarrant/server/rail/chain"
)

const (
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 16 << 20
	// maxRefusal bounds what is read of an answer that is not 2xx, in bytes: its text
	// is logged.
	maxRefusal = 1 << 10
)

// Config configures a [Client].
type Config struct {
	// URL is the node's JSON-RPC endpoint, http or https. A user and password in it are
	// sent as basic authentication. Required.
	URL string
	// Timeout bounds one call. Default: 15 seconds.
	Timeout time.Duration
	// Transport sends the requests. Default: a copy of [http.DefaultTransport].
	Transport http.RoundTripper
}

// Client calls the node. It is safe for concurrent use.
type Client struct {
	*ethclient.Client

	idle func()
}

var _ chain.RPC = (*Client)(nil)

// New returns a client. It does no I/O. The returned error names the invalid field, and
// does not contain the URL.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("node: URL must begin with http:// or https:// and name a host")
	}
	if c.Timeout < 0 {
		return nil, errors.New("node: Timeout must not be negative")
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	t := &transport{to: u, base: c.Transport}
	if t.base == nil {
		t.base = http.DefaultTransport.(*http.Transport).Clone() // it is one
	}
	known := &http.Client{
		Transport: t, Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	// The client's errors contain its URL, so it gets the origin alone.
	calls, err := rpc.DialOptions(context.Background(), u.Scheme+"://"+u.Host, rpc.WithHTTPClient(known))
	if err != nil {
		return nil, fmt.Errorf("node: URL: %w", err)
	}
	return &Client{Client: ethclient.NewClient(calls), idle: known.CloseIdleConnections}, nil
}

// Close closes the connections.
func (c *Client) Close() {
	c.Client.Close()
	c.idle()
}

// transport sends each request to the complete URL.
type transport struct {
	to   *url.URL
	base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	to := *t.to
	if to.User != nil {
		password, _ := to.User.Password()
		r.SetBasicAuth(to.User.Username(), password)
	}
	to.User = nil
	r.URL = &to
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := int64(maxAnswer)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		limit = maxRefusal
		resp.Body = cut{io.LimitReader(resp.Body, limit), resp.Body}
		return resp, nil
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, limit)
	return resp, nil
}

// CloseIdleConnections closes those of the base transport.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// cut is the beginning of a response body.
type cut struct {
	io.Reader
	io.Closer
}
