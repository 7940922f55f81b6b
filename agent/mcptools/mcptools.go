// Package mcptools serves the functions of package agent/toolkit as tools of the Model Context
// Protocol, on the official Go SDK.
//
//	server := mcptools.New(mcptools.Config{Kit: mcptools.Fixed(kit)})
//	err := server.Run(ctx, &mcp.StdioTransport{})
//
// A failed call has isError set, and its content is the JSON of a [toolkit.Error]: code,
// message, remedy, and what to do next.
package mcptools

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/client"
)

// Config configures a server of tools.
type Config struct {
	// Kit returns the functions for a call, such as those of the caller's access token.
	// Required.
	Kit func(ctx context.Context, r *mcp.CallToolRequest) (*toolkit.Kit, error)
	// Version is reported to clients. Default: that of package client.
	Version string
	// Logger records the SDK's activity, never an argument or a result. Default: none.
	Logger *slog.Logger
}

// Fixed returns a Config.Kit for one caller.
func Fixed(kit *toolkit.Kit) func(context.Context, *mcp.CallToolRequest) (*toolkit.Kit, error) {
	return func(context.Context, *mcp.CallToolRequest) (*toolkit.Kit, error) { return kit, nil }
}

const instructions = `Pay within limits that a person signed. Errors have code, message, remedy and next: do what next says. Never ask for or repeat keys or tokens.`

// New returns a server with the ten tools. It keeps no state of its own, so it may serve many
// sessions.
func New(cfg Config) *mcp.Server {
	if cfg.Version == "" {
		cfg.Version = client.Version
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "paywarrant", Title: "Paywarrant", Version: cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions, Logger: cfg.Logger,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.AddReceivingMiddleware(explained, onlyTools)
	t := tools{server: s, kit: cfg.Kit}
	t.mandates()
	t.payments()
	t.bundles()
	t.market()
	return s
}

type tools struct {
	server *mcp.Server
	kit    func(context.Context, *mcp.CallToolRequest) (*toolkit.Kit, error)
}

// hints are the annotations of a tool.
type hints struct{ reads, idempotent, destroys, open bool }

// add adds a tool that is one function of the Kit.
func add[In, Out any](t tools, name, title, description string, h hints, do func(context.Context, *toolkit.Kit, *mcp.CallToolRequest, In) (Out, error)) {
	register(t, name, title, description, h, func(ctx context.Context, kit *toolkit.Kit, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := do(ctx, kit, r, in)
		return nil, out, err
	})
}

func register[In, Out any](
	t tools, name, title, description string, h hints,
	do func(context.Context, *toolkit.Kit, *mcp.CallToolRequest, In) (*mcp.CallToolResult, Out, error),
) {
	tool := &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: h.reads, IdempotentHint: h.idempotent, DestructiveHint: &h.destroys, OpenWorldHint: &h.open,
	}}
	mcp.AddTool(t.server, tool, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		kit, err := t.kit(ctx, r)
		if err != nil {
			return nil, none, err
		}
		result, out, err := do(ctx, kit, r, in)
		if err != nil {
			return nil, none, err
		}
		return result, out, nil
	})
}

// explained gives every failed call the form of a [toolkit.Error], including those whose
// arguments the SDK refused.
func explained(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		failed, ok := result.(*mcp.CallToolResult)
		if err != nil || !ok || !failed.IsError {
			return result, err
		}
		cause := failed.GetError()
		var known *toolkit.Error
		if cause != nil && !errors.As(cause, &known) {
			failed.Content = []mcp.Content{&mcp.TextContent{Text: (&toolkit.Error{
				Code: string(client.CodeValidation), Message: cause.Error(), Remedy: toolkit.FixInput, Next: "Correct the arguments and call again.",
			}).Error()}}
		}
		return result, nil
	}
}

// onlyTools refuses the methods of capabilities that the server does not declare.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		area, _, _ := strings.Cut(method, "/")
		switch area {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + method}
		}
		return next(ctx, method, r)
	}
}

// progress returns a function that notifies the client of a call, if the client asked for it.
func progress(ctx context.Context, r *mcp.CallToolRequest) toolkit.Progress {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(step int, message string) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // a client that is gone misses nothing
			ProgressToken: token, Progress: float64(step), Message: message,
		})
	}
}
