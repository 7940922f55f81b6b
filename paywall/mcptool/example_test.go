package mcptool_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
)

func ExampleAddTool() {
	gate := paywall.Must(paywall.New(paywall.Config{
		Price: "0.05", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Origin: "https://tools.example", APIURL: "https://pay.example",
	}))
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcptool.AddTool(server, gate, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sunny"}}}, nil, nil
	})

	ctx := context.Background()
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast"})
	if err != nil {
		panic(err)
	}
	required := result.StructuredContent.(map[string]any)
	offer := required["accepts"].([]any)[0].(map[string]any)
	fmt.Println(result.IsError, offer["amount"], offer["payTo"])
	// Output: true 50000 0x209693Bc6afc0C5328bA36FaF03C514EF312287C
}
