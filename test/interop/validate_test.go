package interop_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// mppxReport is what `mppx validate --output-json` found.
type mppxReport struct {
	Endpoints []struct {
		Challenge, ErrorHandling, Payment []struct{ Label, Detail, Severity string }
	}
}

// TestValidateAgreesWithMppx: on servers of official packages, our validation and that of
// mppx find the same protocols and no fault in what both check, with payments.
func TestValidateAgreesWithMppx(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	key := devchain.Wallets()[0].PrivateKey()
	for _, c := range []struct {
		server, script string
		protocols      []string
		// faults are what we find. None of the servers has an OpenAPI document: mppx reports
		// that always, we warn of it if the server does not offer MPP.
		faults []string
	}{
		{"@x402/express", "official.mjs", []string{"x402 v2"}, nil},
		{"@x402/hono", "official.mjs", []string{"x402 v2"}, nil},
		{"x402-express", "official.mjs", []string{"x402 v1"}, nil},
		// mppx/express answers 500 to a PAYMENT-SIGNATURE that it cannot read, which mppx does
		// not check.
		{"mppx", "shop.mjs", []string{"x402 v2", "MPP"}, []string{"refuse.malformed", "discovery.openapi"}},
	} {
		t.Run(c.server, func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
			var shop struct{ URL string }
			project.Start(t, c.script, map[string]any{
				"server": c.server, "facilitator": srv.URL + "/v1/x402", "payTo": devchain.Payee(0).Address.Hex(), "delayMs": 0,
			}, &shop)
			base := strings.TrimSuffix(shop.URL, "/weather")

			ours := validated(t, base+"/weather", key)
			require.Equal(t, c.protocols, ours.Protocols)
			var faults []string
			for _, r := range ours.Results {
				if r.Status == conformance.Fail {
					faults = append(faults, r.ID)
				}
			}
			require.Equal(t, c.faults, faults)

			text, err := project.Command(t, []string{"MPPX_CONFIG=mppx.config.mjs", "WALLET_KEY=" + key},
				"mppx", "validate", base, "--endpoint", "GET:/weather", "--output-json", "--yes")
			start := strings.IndexByte(text, '{')
			require.GreaterOrEqual(t, start, 0, "%v: %s", err, text)
			var theirs mppxReport
			require.NoError(t, json.NewDecoder(strings.NewReader(text[start:])).Decode(&theirs), text)
			require.Len(t, theirs.Endpoints, 1, text)
			e := theirs.Endpoints[0]
			for _, check := range slices.Concat(e.Challenge, e.ErrorHandling, e.Payment) {
				require.NotEqual(t, "fail", check.Severity, "%s: %s", check.Label, check.Detail)
			}
			require.Contains(t, text, "No discovery document found")
			mpp := strings.Contains(text, "Challenge parseable")
			require.Equal(t, c.server == "mppx", mpp, text)
		})
	}
}

// validated returns our report, with payments.
func validated(t *testing.T, url, key string) conformance.Report {
	t.Helper()
	private, err := evm.ParseKey(strings.TrimPrefix(key, "0x"))
	require.NoError(t, err)
	w, err := evm.NewWallet(evm.WalletConfig{Key: private})
	require.NoError(t, err)
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: url, Wallet: w, BudgetMicros: 100_000})
	require.NoError(t, err)
	require.Positive(t, report.PaidMicros)
	require.LessOrEqual(t, report.SignedMicros, int64(100_000))
	return report
}
