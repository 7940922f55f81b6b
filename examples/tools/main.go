// Command tools sells a tool of the Model Context Protocol, and has an agent buy it. Run
// `paywarrant dev --env dev.env`, and in another terminal:
//
//	. ./dev.env
//	go run ./examples/tools
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/mcpclient"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
)

func main() {
	buyer := agent.Config{
		ServiceURL: os.Getenv("SERVICE_API_URL"), Token: os.Getenv("SERVICE_ACCESS_TOKEN"), Mandate: os.Getenv("SERVICE_MANDATE"),
		MaxPriceMicros: 1_000_000, // a dollar for one call
	}
	if err := run(context.Background(), os.Stdout, os.Getenv("PAY_TO"), buyer); err != nil {
		log.Fatal(err)
	}
}

// run sells the tool, and buys it once.
func run(ctx context.Context, out io.Writer, payTo string, buyer agent.Config) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	origin := "http://" + l.Addr().String()
	tools, err := sell(origin, buyer.ServiceURL, payTo)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: tools, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // until Close
	defer s.Close()
	return buy(ctx, out, origin+"/mcp", buyer)
}

type place struct {
	Town string `json:"town" jsonschema:"the name of a town"`
}

// sell returns the handler of a server with a tool that costs 60 cents.
func sell(origin, service, payTo string) (http.Handler, error) {
	gate, err := paywall.New(paywall.Config{Price: "0.60", PayTo: payTo, Origin: origin, APIURL: service, TestMode: true})
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcptool.AddTool(server, gate, &mcp.Tool{Name: "forecast", Description: "The weather of tomorrow. Costs $0.60."},
		func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Town + ": sunny"}}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcptool.ClientAddress(handler))
	return mux, nil
}

// buy calls the tool and pays for it.
func buy(ctx context.Context, out io.Writer, endpoint string, buyer agent.Config) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	if err := mcpclient.Pay(c, mcpclient.Config{Endpoint: endpoint, Agent: buyer}); err != nil {
		return err
	}
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: place{Town: "Oslo"}})
	if err != nil {
		return err
	}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			fmt.Fprintln(out, text.Text)
		}
	}
	return nil
}
