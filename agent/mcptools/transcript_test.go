package mcptools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent/toolkit"
)

const transcriptFile = "../../docs/reference/tools.md"

const transcriptHead = `# The tools of an agent

The tools at ` + "`/mcp`" + ` of a service and of ` + "`paywarrant mcp`" + `, with one call of each and its answer. [Give your agent a wallet](../guides/tools.md) says how to
connect them. Ids, times and addresses are examples. A failed call has ` + "`isError`" + ` set and answers with ` + "`code`, `message`, `remedy`" + ` and ` + "`next`" + `.

This page is written by ` + "`UPDATE_TRANSCRIPT=1 go test ./agent/mcptools -run TestTranscript`" + `.
`

// step is one call of the transcript. Named values of earlier answers may appear in arguments.
type step struct {
	tool, about string
	arguments   string
	keep        map[string]string // names by JSON path
}

// TestTranscriptOfEveryToolIsCurrent calls each tool and compares inputs and outputs with the
// documentation.
func TestTranscriptOfEveryToolIsCurrent(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *toolkit.Config, _ *mcp.ClientOptions) { c.Mandate = "" })
	bundles := bundleShop(t)
	values := map[string]string{"SHOP": w.shop, "MERCHANT": w.Merchant.ID, "BUNDLES": bundles}
	list, err := w.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	described := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		described[tool.Name] = tool
	}
	var page strings.Builder
	page.WriteString(transcriptHead)
	for _, s := range []step{
		{"setup_spending_mandate", "", `{"maxAmountPerTxCents":500,"maxMonthlySpendCents":5000,"railPreference":"fiatrail"}`, map[string]string{"SESSION": "sessionToken"}},
		{"poll_setup_session", "", `{"sessionToken":"$SESSION"}`, map[string]string{"MANDATE": "mandateId"}},
		{"delegare_fetch", "", `{"url":"$SHOP","mandateId":"$MANDATE","maxPriceCents":100}`, map[string]string{"RECEIPT": "receipt.value"}},
		{"delegare_fetch", "The same once more:", `{"url":"$SHOP","mandateId":"$MANDATE","maxPriceCents":100}`, nil},
		{"verify_receipt", "", `{"receipt":"$RECEIPT"}`, nil},
		{"authorize_agent_payment", "", `{"amountCents":250,"currency":"usd","description":"October report","recipient":"$MERCHANT","mandateId":"$MANDATE"}`, nil},
		{"check_mandate_balance", "", `{"mandateId":"$MANDATE"}`, nil},
		{"purchase_bundle", "", `{"merchantBundleUrl":"$BUNDLES/bundles"}`, nil},
		{"check_bundle_balance", "", `{"merchantBalanceUrl":"$BUNDLES/bundles/balance","bundleToken":"eyJ…"}`, nil},
		{"search_market", "", `{"query":"weather","maxPriceCents":5}`, nil},
		{"revoke_mandate", "", `{"mandateId":"$MANDATE"}`, nil},
		{"authorize_agent_payment", "After that:", `{"amountCents":250,"currency":"usd","description":"November report","recipient":"$MERCHANT","mandateId":"$MANDATE"}`, nil},
	} {
		if s.about == "" {
			tool := described[s.tool]
			delete(described, s.tool)
			_, _ = fmt.Fprintf(&page, "\n## `%s`\n\n%s: %s\n", s.tool, tool.Title, tool.Description)
		} else {
			_, _ = fmt.Fprintf(&page, "\n%s\n", s.about)
		}
		if s.tool == "poll_setup_session" {
			w.CompleteSetup(t, values["SESSION"])
		}
		input := os.Expand(s.arguments, func(name string) string { return values[name] })
		var arguments map[string]any
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(input, "eyJ…", "eyJ-bundle")), &arguments))
		got := w.call(t, s.tool, arguments)
		for name, path := range s.keep {
			values[name] = pick(got.value, path)
		}
		_, _ = fmt.Fprintf(&page, "\n```json\n%s\n```\n\n```json\n%s\n```\n", example(w, bundles, input), example(w, bundles, got.text))
	}
	require.Empty(t, described, "tools that the transcript does not call")
	if os.Getenv("UPDATE_TRANSCRIPT") != "" {
		require.NoError(t, os.WriteFile(transcriptFile, []byte(page.String()), 0o600))
	}
	written, err := os.ReadFile(transcriptFile)
	require.NoError(t, err)
	require.Equal(t, string(written), page.String(), "run the command that the page names")
}

// bundleShop sells bundles.
func bundleShop(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bundles", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"tiers":[{"name":"small","usdCents":500,"requests":1000}],"purchaseUrl":"http://`+r.Host+`/bundles"}`)
	})
	mux.HandleFunc("GET /bundles/balance", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"creditsRemaining":998,"tier":"small","requests":1000}`)
	})
	shop := httptest.NewServer(mux)
	t.Cleanup(shop.Close)
	return shop.URL
}

func pick(value map[string]any, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	if deeper {
		inner, _ := value[name].(map[string]any)
		return pick(inner, rest)
	}
	text, _ := value[name].(string)
	return text
}

var examples = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(txn|del|mer)_[0-9A-Z]{26}`), "${1}_01K…"},
	{regexp.MustCompile(`sess_[\w-]{20,}`), "sess_…"},
	{regexp.MustCompile(`pay_[\w-]{10,}`), "pay_…"},
	{regexp.MustCompile(`"eyJ[\w+/=-]{20,}"`), `"eyJ…"`},
	{regexp.MustCompile(`20\d\d-\d\d-\d\dT[\d:.]+Z`), "2026-11-22T12:00:00Z"},
}

// example returns JSON, indented, with the values that differ from run to run replaced.
func example(w *world, bundles, text string) string {
	text = strings.NewReplacer(w.shop, "https://api.example.com/weather", w.URL, "https://pay.example", bundles, "https://api.example.com").Replace(text)
	for _, e := range examples {
		text = e.pattern.ReplaceAllString(text, e.with)
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}
