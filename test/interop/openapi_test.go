package interop_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// checkDocuments has Redocly validate the documents that the service and its demo API serve.
func checkDocuments(t *testing.T, dev devSystem) {
	t.Helper()
	project := nodetest.Open(t, "openapi")
	for name, url := range map[string]string{"service.json": dev.BaseURL, "paywall.json": dev.Paywall.BaseURL} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.json", http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		document, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, document, 0o600))
		text, err := project.Command(t, []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}, "redocly", "lint", file, "--extends=recommended")
		require.NoError(t, err, text)
		require.Contains(t, text, "Your API description is valid", name)
	}
}

// checkRegistration registers the demo API with the market: each of its endpoints is listed.
func checkRegistration(t *testing.T, dev devSystem) {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: dev.BaseURL, MerchantID: dev.Merchant.ID, APIKey: dev.Merchant.APIKey})
	require.NoError(t, err)
	s, err := c.RegisterMarketServer(t.Context(), client.MarketServerParams{BaseURL: dev.Paywall.BaseURL})
	require.NoError(t, err)
	require.Len(t, s.Report, 5)
	for _, line := range s.Report {
		require.True(t, line.Listed, "%s: %s", line.Operation, line.Problem)
	}
	require.Equal(t, 5, s.Listed)
	require.True(t, s.Verified)
	page, err := c.Market(t.Context(), client.MarketParams{Query: "weather"})
	require.NoError(t, err)
	require.NotEmpty(t, page.Data)
	require.Equal(t, dev.Paywall.BaseURL+"/weather", page.Data[0].URL)
}
