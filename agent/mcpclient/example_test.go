package mcpclient_test

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/mcpclient"
)

func ExamplePay() {
	const endpoint = "https://tools.example/mcp"
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	err := mcpclient.Pay(c, mcpclient.Config{Endpoint: endpoint, Agent: agent.Config{
		ServiceURL: "https://pay.example", Token: os.Getenv("SERVICE_ACCESS_TOKEN"), Mandate: os.Getenv("SERVICE_MANDATE"),
		MaxPriceMicros: 1_000_000, // a dollar for one call
	}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint}, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast"}) // pays up to a dollar
	if err != nil {
		panic(err)
	}
}
