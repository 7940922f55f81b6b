package interop_test

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
	"github.com/paywarrant/paywarrant/test/internal/process"
	"github.com/paywarrant/paywarrant/x402"
)

// devSystem is the ready line of `paywarrant dev`.
type devSystem struct {
	BaseURL  string
	Merchant struct{ ID, APIKey, PayTo string }
	Chain    struct{ RPCURL, USDC string }
	Wallets  []struct{ Address, PrivateKey string }
	Paywall  struct{ BaseURL string }
}

// startDev starts the real binary.
func startDev(t *testing.T) (d devSystem) {
	t.Helper()
	dir := t.TempDir()
	binary, err := programtest.Build(t.Context(), dir)
	require.NoError(t, err)
	child, err := process.Command{
		Binary: binary, Log: filepath.Join(dir, "log"), Args: []string{"dev", "--addr", "127.0.0.1:0"},
	}.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, child.Kill()) })
	line, err := child.Line()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &d))
	return d
}

// TestDevsPaywallAsTheSpecificationSays asks `paywarrant dev` for /weather as curl
// does, and reads all three payloads; then mppx validates the whole API, and pays.
func TestDevsPaywallAsTheSpecificationSays(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	dev := startDev(t)
	t.Run("curl", func(t *testing.T) {
		t.Parallel()
		checkChallenges(t, dev)
	})
	t.Run("redocly", func(t *testing.T) {
		t.Parallel()
		checkDocuments(t, dev)
	})
	t.Run("market", func(t *testing.T) {
		t.Parallel()
		checkRegistration(t, dev)
	})
	t.Run("mppx validate", func(t *testing.T) {
		t.Parallel()
		text, err := project.Command(t, []string{"MPPX_CONFIG=mppx.config.mjs", "WALLET_KEY=" + dev.Wallets[0].PrivateKey},
			"mppx", "validate", dev.Paywall.BaseURL, "--output-json", "--yes", "--body", `{"/search":{"query":"sun"}}`)
		require.NoError(t, err, text)
		checkValidation(t, text)
	})
}

// checkChallenges holds the answer of /weather against the specification.
func checkChallenges(t *testing.T, dev devSystem) {
	t.Helper()
	url := dev.Paywall.BaseURL + "/weather"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))

	two, err := x402.DecodePaymentRequired(resp.Header.Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	require.Equal(t, url, two.Resource.URL)
	want := two.Accepts[0]
	require.Equal(t, []string{"exact", "eip155:84532", "10000", dev.Merchant.PayTo, "upfront"},
		[]string{want.Scheme, want.Network, want.Amount, want.PayTo, want.Extra["paymentFlow"].(string)})
	requireBazaar(t, two.Extensions["bazaar"])

	one, err := x402.DecodePaymentRequiredV1(body)
	require.NoError(t, err)
	require.Equal(t, []string{"base-sepolia", "10000", url}, []string{one.Accepts[0].Network, one.Accepts[0].MaxAmountRequired, one.Accepts[0].Resource})
	require.Len(t, one.PaymentMethods, 2)

	challenges, err := mpp.ParseChallenges(resp.Header.Values("WWW-Authenticate")...)
	require.NoError(t, err)
	require.Len(t, challenges, 1)
	require.Equal(t, "The weather now", challenges[0].Description)
	data, err := mpp.DecodeBase64(challenges[0].Request)
	require.NoError(t, err)
	var asked struct {
		Amount, Recipient string
		OutputSchema      map[string]any
	}
	require.NoError(t, json.Unmarshal(data, &asked))
	require.Equal(t, []string{"10000", dev.Merchant.PayTo}, []string{asked.Amount, asked.Recipient})
	require.Contains(t, asked.OutputSchema["properties"], "temperature")
}

// requireBazaar requires what directories ask for: output.schema above all.
func requireBazaar(t *testing.T, extension any) {
	t.Helper()
	text, err := json.Marshal(extension)
	require.NoError(t, err)
	var bazaar struct {
		Info   struct{ Input struct{ Type, Method string } }
		Schema struct {
			Properties struct {
				Output struct {
					Properties struct{ Example map[string]any }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &bazaar))
	require.Equal(t, []string{"http", "GET"}, []string{bazaar.Info.Input.Type, bazaar.Info.Input.Method})
	require.Contains(t, bazaar.Schema.Properties.Output.Properties.Example["properties"], "temperature", "output.schema")
}

// checkValidation requires that every check of mppx passes, the payments too.
func checkValidation(t *testing.T, text string) {
	t.Helper()
	type check struct{ Label, Detail, Severity string }
	var report struct {
		Discovery struct{ Checks []check }
		Endpoints []struct {
			Path                              string
			Challenge, ErrorHandling, Payment []check
		}
		Summary struct{ Passed, Failed, Warnings, Suggested, Skipped int }
	}
	start := strings.IndexByte(text, '{') // something may be said before it on standard error
	require.GreaterOrEqual(t, start, 0, text)
	require.NoError(t, json.NewDecoder(strings.NewReader(text[start:])).Decode(&report), text)
	require.Zero(t, report.Summary.Failed+report.Summary.Warnings+report.Summary.Suggested+report.Summary.Skipped, text)
	require.Len(t, report.Discovery.Checks, 4)
	require.Len(t, report.Endpoints, 5)
	for _, e := range report.Endpoints {
		require.GreaterOrEqual(t, len(report.Discovery.Checks)+len(e.Challenge)+len(e.ErrorHandling)+len(e.Payment), 17, e.Path)
		require.NotEmpty(t, e.Payment, e.Path)
	}
}
