// Package mcpclient pays for tools of servers of the Model Context Protocol (MCP), by the
// official Go SDK:
//
//	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
//	err := mcpclient.Pay(c, mcpclient.Config{Endpoint: "https://tools.example/mcp", Agent: agent.Config{Mandate: m, ...}})
//	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "https://tools.example/mcp"}, nil)
//	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast"})
//
// It pays as package agent pays for requests: within the same limits, with the same approval and
// journal, and never a second time while the first payment is good. It understands x402's MCP
// transport and the Payment scheme, and the mandates and bundles of package mcptool.
package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/mcppay"
)

// Config configures [Pay].
type Config struct {
	// Endpoint is the URL of the server. Mandates are bound to its origin. It is https, or http to
	// this machine; for a server over stdio it is "http://localhost". Required.
	Endpoint string
	// Agent configures the payments. Base is not used: calls take the client's own way.
	Agent agent.Config
}

// errUnfit reports a request or a result of another type.
var errUnfit = errors.New("mcpclient: not a tool call")

// Pay adds a middleware to c that pays for tools. A tool that costs nothing is called as before.
// If a payment is required and not made, a call returns a [*agent.PaymentError]; if a paid call
// got no result, an [*agent.UndecidedError]. The returned error names the invalid field.
func Pay(c *mcp.Client, cfg Config) error {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("mcpclient: Endpoint: %q is no URL such as https://tools.example/mcp", cfg.Endpoint)
	}
	cfg.Agent.Base = calls{}
	payer, err := agent.NewTransport(cfg.Agent)
	if err != nil {
		return err
	}
	origin := u.Scheme + "://" + u.Host
	c.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != mcppay.MethodCall {
				return next(ctx, method, req)
			}
			return pay(ctx, payer, origin, &call{next: next, request: req})
		}
	})
	return nil
}

// call is one call of a tool, which may take several tries.
type call struct {
	next    mcp.MethodHandler
	request mcp.Request
	result  mcp.Result // of the last try
	err     error
}

type callKey struct{}

// pay makes the call as a request of payer, whose path and body are the tool and its arguments.
func pay(ctx context.Context, payer *agent.Transport, origin string, c *call) (mcp.Result, error) {
	params, ok := c.request.GetParams().(*mcp.CallToolParams)
	if !ok {
		return nil, errUnfit
	}
	body, err := json.Marshal(params.Arguments)
	if err != nil {
		return nil, fmt.Errorf("encode arguments: %w", err)
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, callKey{}, c), http.MethodPost, origin+"/tools/"+url.PathEscape(params.Name), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := payer.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // the result has arrived
		return nil, err
	}
	return c.result, c.err
}

// calls is a RoundTripper whose requests are calls of tools.
type calls struct{}

func (calls) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errUnfit
	}
	meta, err := mcppay.RequestMeta(r.Header)
	if err != nil {
		return nil, err
	}
	request, err := withMeta(c.request, meta)
	if err != nil {
		return nil, err
	}
	c.result, c.err = c.next(r.Context(), mcppay.MethodCall, request)
	return c.response(r)
}

// withMeta returns the request with more members of _meta.
func withMeta(req mcp.Request, more map[string]any) (mcp.Request, error) {
	asked, ok := req.GetParams().(*mcp.CallToolParams)
	session, same := req.GetSession().(*mcp.ClientSession)
	if !ok || !same {
		return nil, errUnfit
	}
	if len(more) == 0 {
		return req, nil
	}
	params := *asked
	params.Meta = mcppay.WithoutCredentials(asked.Meta)
	maps.Copy(params.Meta, more)
	return &mcp.ClientRequest[mcp.Params]{Session: session, Params: &params}, nil
}

// response returns what the server answered, as an HTTP response.
func (c *call) response(r *http.Request) (*http.Response, error) {
	var status int
	header, body := http.Header{}, []byte{}
	var refused *jsonrpc.Error
	switch result, ok := c.result.(*mcp.CallToolResult); {
	case errors.As(c.err, &refused) && len(refused.Data) > 0 && mcppay.IsPaymentError(refused.Code):
		status = http.StatusPaymentRequired
		mcppay.SetChallenges(header, refused.Data)
		body = reason(refused.Data)
	case errors.As(c.err, &refused): // the server has answered
		status = http.StatusInternalServerError
	case c.err != nil:
		return nil, c.err
	case !ok:
		return nil, errUnfit
	default:
		header = mcppay.ResponseHeader(result.Meta)
		status, body = outcome(header, result)
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}
