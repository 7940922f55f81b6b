// Package mcptool requires payment for tools of servers of the Model Context Protocol (MCP), by
// the official Go SDK:
//
//	gate, err := paywall.New(paywall.Config{Price: "0.05", PayTo: payTo, Origin: "https://tools.example", APIURL: api})
//	...
//	mcptool.AddTool(server, gate, &mcp.Tool{Name: "forecast"}, forecast)
//
// A call is charged as a request to a [paywall.Gate] is: by the same credentials, redeemed once,
// and only if the tool succeeds. A result with isError, or an error, is not what was paid for; the
// payment stays good for the next call. A metered tool calls [paywall.MeterFrom] with its context.
//
// Calls without payment get a result with isError whose structured content and text are x402's
// PaymentRequired (x402's MCP transport, version 2), and whose _meta has the challenges of the
// Payment scheme; clients that declare the experimental capability "payment" get the JSON-RPC
// error -32042 of that scheme, or -32043 if a payment was refused. Clients pay by these members of _meta:
//
//	x402/payment              x402: a PaymentPayload
//	org.paymentauth/credential  the Payment scheme: a credential
//	service/mandate           a mandate, or a presentation of it
//	service/idempotency-key   with a mandate: the key of the payment
//	service/bundle-token      the token of a bundle
//
// Results have x402/payment-response or org.paymentauth/receipt. If a call with a
// payment was not served, service/payment-refusal has the gate's status and code.
package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/internal/mcppay"
	"github.com/paywarrant/paywarrant/paywall"
)

// headerRan marks responses that the tool itself made.
const headerRan = "X-Service-Tool-Ran"

// AddTool adds a tool to a server, as [mcp.AddTool] does, and requires payment for its calls.
//
// The price is that of the gate: derive one for each tool with [paywall.Gate.With]. If the route
// has no Resource, the tool's is "/tools/" and its name under [paywall.Config.Origin]; a Resource
// is listed in the gate's documents as if it were an HTTP endpoint. A tool that is added again has
// its last gate. It panics as mcp.AddTool does.
func AddTool[In, Out any](s *mcp.Server, gate *paywall.Gate, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(s, t, h)
	p := &paidTool{name: t.Name, schema: t.OutputSchema != nil || reflect.TypeFor[Out]() != reflect.TypeFor[any]()}
	p.handler = gate.Require(http.HandlerFunc(run))
	s.AddReceivingMiddleware(p.middleware)
}

// paidTool is a tool with a price.
type paidTool struct {
	name    string
	schema  bool // its results have structured content of its own form
	handler http.Handler
}

// call is one call of a paid tool.
type call struct {
	request *mcp.CallToolRequest
	next    mcp.MethodHandler
	result  mcp.Result
	err     error
}

type callKey struct{}

func (p *paidTool) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		request, ok := req.(*mcp.CallToolRequest)
		if !ok || method != mcppay.MethodCall || request.Params == nil || request.Params.Name != p.name {
			return next(ctx, method, req)
		}
		if outer, ok := ctx.Value(callKey{}).(*call); ok && outer.request.Params.Name == p.name { // the tool was added again
			return next(ctx, method, req)
		}
		header, err := mcppay.RequestHeader(request.Params.Meta)
		if err != nil {
			return failed(err.Error()), nil
		}
		c := &call{request: request, next: next}
		r, err := p.httpRequest(context.WithValue(ctx, callKey{}, c), header, request)
		if err != nil {
			return nil, err
		}
		w := &response{header: http.Header{}, status: http.StatusOK}
		p.handler.ServeHTTP(w, r)
		return p.answer(c, w)
	}
}

// httpRequest returns the request that the gate judges in the call's place.
func (p *paidTool) httpRequest(ctx context.Context, h http.Header, request *mcp.CallToolRequest) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/tools/"+url.PathEscape(p.name), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header = h
	if request.Extra != nil {
		setAddress(r, request.Extra.Header)
	}
	return r, nil
}

// run calls the tool, once the gate has let the request through. A status below 400 is what was
// paid for.
func run(w http.ResponseWriter, r *http.Request) {
	c, _ := r.Context().Value(callKey{}).(*call)
	request, params := *c.request, *c.request.Params
	params.Meta = mcppay.WithoutCredentials(params.Meta)
	request.Params = &params
	c.result, c.err = c.next(r.Context(), mcppay.MethodCall, &request)
	w.Header().Set(headerRan, "1")
	result, ok := c.result.(*mcp.CallToolResult)
	switch {
	case c.err != nil || !ok || result.IsError:
		w.WriteHeader(http.StatusInternalServerError)
	case result.InputRequests != nil: // the tool asks something before it does its work
		w.WriteHeader(http.StatusPreconditionRequired)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// answer returns what the tool returned, with receipts, or what the gate said instead.
func (p *paidTool) answer(c *call, w *response) (mcp.Result, error) {
	if w.header.Get(headerRan) != "" {
		if result, ok := c.result.(*mcp.CallToolResult); ok && c.err == nil {
			result.Meta = merged(result.Meta, mcppay.ResponseMeta(w.header, w.status, nil))
		}
		return c.result, c.err
	}
	meta := mcppay.ResponseMeta(w.header, w.status, w.body.Bytes())
	said := mcppay.RefusalOf(w.status, w.body.Bytes())
	required := mcppay.PaymentRequired(w.header)
	if w.status != http.StatusPaymentRequired || required == nil {
		result := failed(said.Message)
		result.Meta = meta
		return result, nil
	}
	if asked, ok := meta[mcppay.Required].(map[string]any); ok && wantsError(c.request) {
		return nil, schemeError(asked, said)
	}
	result := failed(string(required))
	result.Meta = meta
	if said.Message != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: said.Message})
	}
	if !p.schema { // clients compare structured content with the tool's own schema
		result.StructuredContent = required
	}
	return result, nil
}

// schemeError returns the error of the Payment scheme for a call without payment, or for one whose
// payment was refused.
func schemeError(asked map[string]any, said mcppay.Refused) error {
	e := &jsonrpc.Error{Code: mcppay.CodeRequired, Message: "Payment Required"}
	if said.Code != mcppay.CodeAsked {
		e.Code, e.Message, asked[mcppay.Refusal] = mcppay.CodeRefused, said.Message, said
	}
	var err error
	if e.Data, err = json.Marshal(asked); err != nil {
		return err
	}
	return e
}

// wantsError reports whether the client declared that it pays by the Payment scheme.
func wantsError(request *mcp.CallToolRequest) bool {
	if request.Session == nil {
		return false
	}
	init := request.Session.InitializeParams()
	if init == nil || init.Capabilities == nil {
		return false
	}
	_, ok := init.Capabilities.Experimental["payment"]
	return ok
}

func failed(text string) *mcp.CallToolResult {
	if text == "" {
		text = "The payment failed. Try again in a moment."
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func merged(meta mcp.Meta, more map[string]any) mcp.Meta {
	if len(more) == 0 {
		return meta
	}
	if meta == nil {
		meta = mcp.Meta{}
	}
	maps.Copy(meta, more)
	return meta
}

// response is what the gate answers.
type response struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if !w.wrote && status >= http.StatusOK {
		w.status, w.wrote = status, true
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.wrote = true
	return w.body.Write(p)
}
