package main

import (
	"io"
	"net/url"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestToolsOverStandardInputAndOutput: the command serves the tools with an access token, or
// with a merchant's key, for which it makes a token and revokes it at the end.
func TestToolsOverStandardInputAndOutput(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	mandate, token, err := s.ownMandate(t.Context())
	require.NoError(t, err)
	m := s.People.Merchant
	for name, c := range map[string]mcpCmd{
		"access token": {Service: s.BaseURL, Mandate: mandate.MandateID, Token: token},
		"API key":      {Service: s.BaseURL, Mandate: mandate.MandateID, MerchantID: m.ID, APIKey: m.APIKey},
	} {
		t.Run(name, func(t *testing.T) {
			fromClient, toServer := io.Pipe()
			fromServer, toClient := io.Pipe()
			c.in, c.out = fromClient, toClient
			ended := make(chan error, 1)
			go func() { ended <- c.Run(t.Context(), output{io.Discard, io.Discard}) }()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
			require.NoError(t, err)
			got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "delegare_fetch", Arguments: map[string]any{"url": s.API.BaseURL + "/report?for=" + url.QueryEscape(name)},
			})
			require.NoError(t, err)
			text := got.Content[0].(*mcp.TextContent).Text
			require.False(t, got.IsError, text)
			require.Contains(t, text, "Climate report")
			require.NoError(t, session.Close())
			require.NoError(t, <-ended)
		})
	}
	merchant, err := s.client()
	require.NoError(t, err)
	for made, err := range merchant.AccessTokens(t.Context(), client.ListParams{}) {
		require.NoError(t, err)
		require.Equal(t, made.Name == "paywarrant mcp", made.Status == client.TokenRevoked, made.Name)
	}
	require.ErrorContains(t, mcpCmd{Service: s.BaseURL}.Run(t.Context(), output{io.Discard, io.Discard}), "SERVICE_ACCESS_TOKEN")
}
