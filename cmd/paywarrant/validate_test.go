package main

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/internal/devchain"
)

// startDemo starts the whole sandbox.
func startDemo(t *testing.T) *devSystem {
	t.Helper()
	s, err := startDevSystem(t.Context(), devSystemConfig{Addr: "127.0.0.1:0", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestValidateIsCleanOnOurPaywall(t *testing.T) {
	t.Parallel()
	s := startDemo(t)
	for _, r := range s.API.Routes {
		args := []string{"validate", s.API.BaseURL + r.Path, "--json", "-X", r.Method}
		if r.Method == http.MethodPost {
			args = append(args, "--body", `{"query":"sun"}`)
		}
		file := filepath.Join(t.TempDir(), "report.xml")
		text, err := command(t, append(args, "--junit", file)...)
		require.NoError(t, err, text)
		var report conformance.Report
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		for _, result := range report.Results {
			slow := result.ID == "http.time" // the machine may be
			require.True(t, slow || result.Status == conformance.Pass || result.Status == conformance.Skipped, "%s: %s", result.ID, result.Detail)
		}
		require.Greater(t, report.Count(conformance.Pass), 50)
		written, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(written), `failures="0"`)
	}
}

func TestValidatePaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	s := startDemo(t)
	file := filepath.Join(t.TempDir(), "wallet.key")
	require.NoError(t, os.WriteFile(file, []byte(devchain.Wallets()[0].PrivateKey()), 0o600))
	args := []string{"validate", s.API.BaseURL + "/weather", "--pay", "--wallet", file}
	text, err := command(t, append(args, "--budget", "0.05")...)
	require.NoError(t, err, text)
	require.Regexp(t, `[01] warnings?, 0 failed, 1 not checked\. Signed payments of 0\.05 USD; served for 0\.04 USD\.`, text)
	text, err = command(t, append(args, "--budget", "0.02")...)
	require.NoError(t, err, text)
	require.Contains(t, text, "the budget of 0.02 USD does not allow 0.01 more: paid.mpp, receipt.mpp, paid.race, paid.less")
}

func TestValidateFailsIfARuleFails(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Payment realm="x"`)
		w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"accepts":[{"scheme":"\u001b[2J"}]}`)))
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	t.Cleanup(srv.Close)
	text, err := command(t, "validate", srv.URL)
	require.Equal(t, exitFailure, exitCode(err))
	require.ErrorIs(t, err, errSaid, "the results are the report of the failure")
	require.Regexp(t, `fail +mpp.challenge`, text)
	require.Contains(t, text, "remedy")
	require.Contains(t, text, "RFC 9110 §11.6.1")
	require.NotContains(t, text, "\x1b")
}

func TestValidateThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"no URL":              {[]string{"validate", "weather"}, exitUsage},
		"nothing there":       {[]string{"validate", "http://127.0.0.1:1/"}, exitUnreachable},
		"a budget of nothing": {[]string{"validate", "http://127.0.0.1:1/", "--pay", "--budget", "0"}, exitUsage},
		"a wallet unused":     {[]string{"validate", "http://127.0.0.1:1/", "--wallet", "key"}, exitUsage},
		"no folder for JUnit": {[]string{"validate", "http://127.0.0.1:1/", "--junit", "/no/folder/x.xml"}, exitUsage},
	} {
		_, err := command(t, c.args...)
		require.Error(t, err, name)
		require.Equal(t, c.code, exitCode(err), "%s: %v", name, err)
	}
}
