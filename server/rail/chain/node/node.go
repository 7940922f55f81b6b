// Package node reaches a chain's node over JSON-RPC, as [chain.Config] wants it:
//
//	n, err := node.New(node.Config{URL: "https://node.example/secret"})
//	defer n.Close()
//	rail, err := chain.New(chain.Config{RPC: n, …})
//
// Every call ends: with its context, or after Config.Timeout. Answers are bounded,
// redirections are not followed, and errors name the node's host alone, since the
// paths of such addresses are often secrets.
//
// It speaks to one node. The rail decides about money by what the node says, and
// nodes that are not equally far would contradict each other: an address behind
// which several answer in turn belongs behind something that keeps a caller to one.
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
	// maxAnswer is how long an answer may be, in bytes.
	maxAnswer = 16 << 20
	// maxRefusal is how much is read of an answer that is not 2xx; its text ends up
	// in logs.
	maxRefusal = 1 << 10
)

// Config says where the node is.
type Config struct {
	// URL is its JSON-RPC, by http or https. User and password in it are sent as basic
	// authentication. Required.
	URL string
	// Timeout is how long one call may take. Default: 15 seconds.
	Timeout time.Duration
	// Transport carries the calls. Default: one like [http.DefaultTransport].
	Transport http.RoundTripper
}

// Client calls the node. It is safe for concurrent use.
type Client struct {
	*ethclient.Client

	idle func()
}

var _ chain.RPC = (*Client)(nil)

// New returns a client; it calls nobody yet. An error names the field that is wrong,
// without the URL.
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
	// What goes into the client ends up in its errors: the origin alone.
	calls, err := rpc.DialOptions(context.Background(), u.Scheme+"://"+u.Host, rpc.WithHTTPClient(known))
	if err != nil {
		return nil, fmt.Errorf("node: URL: %w", err)
	}
	return &Client{Client: ethclient.NewClient(calls), idle: known.CloseIdleConnections}, nil
}

// Close gives the connections back.
func (c *Client) Close() {
	c.Client.Close()
	c.idle()
}

// transport sends each call to the whole URL.
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

// CloseIdleConnections lets the client close those of the base.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// cut is the beginning of a body.
type cut struct {
	io.Reader
	io.Closer
}
