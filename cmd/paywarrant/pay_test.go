package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
)

func TestPayShowsChallengeChoiceAndReceipt(t *testing.T) {
	t.Parallel()
	s, err := startDevSystem(t.Context(), devSystemConfig{Addr: "127.0.0.1:0", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	m := s.People.Merchant
	c, err := client.New(client.Config{BaseURL: s.BaseURL, MerchantID: m.ID, APIKey: m.APIKey})
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	session, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	done, err := c.CompleteTestSession(t.Context(), session.SessionToken, client.TestCompletion{})
	require.NoError(t, err)
	report := s.API.BaseURL + "/report"
	means := []string{"--mandate", done.Mandate, "--service", s.BaseURL, "--merchant-id", m.ID, "--api-key", m.APIKey}
	pay := func(args ...string) (string, error) { return command(t, append([]string{"pay"}, args...)...) }

	text, err := pay(append(means, report)...)
	require.NoError(t, err, text)
	for _, want := range []string{"The challenge", "x402-v1", "mpp", "The choice", "The receipt", "pay_", "Climate report"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "dtok_")

	text, err = pay(append(means, report, "--json")...)
	require.NoError(t, err, text)
	var p paid
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	require.Equal(t, []any{agent.Mandate, "0.50", 200, "card"}, []any{p.Choice.Method, p.Choice.Price, p.Status, p.Receipt.Network})
	require.Len(t, p.Challenge, 5)

	_, err = pay(append(means, report, "--max", "0.49")...)
	require.ErrorContains(t, err, "asked 0.50 USD by mandate, allowed 0.49")
	require.ErrorContains(t, err, "--max 0.50 allows it")
	require.Equal(t, exitRefused, exitCode(err))
	_, err = pay("api.example.com/report")
	require.ErrorContains(t, err, "is not a URL")
	require.Equal(t, exitUsage, exitCode(err))
	text, err = pay(report)
	require.ErrorContains(t, err, "give --wallet, --mandate or --bundle", "the remedy")
	require.Equal(t, exitRefused, exitCode(err))
	require.Contains(t, text, "0.50 USD to "+m.PayTo, "the price is shown")
	require.NotContains(t, text, "give --wallet", "errors are not results")
	text, err = pay(report, "--json")
	require.Equal(t, exitRefused, exitCode(err))
	require.NoError(t, json.Unmarshal([]byte(text), &p), "JSON also without payment")
	require.Contains(t, p.Error, "give --wallet")
	_, err = pay("http://127.0.0.1:1/")
	require.Equal(t, exitUnreachable, exitCode(err), "%v", err)
	for _, wrong := range [][]string{{"--max", "free"}, {"--mandate", "dtok_x"}, {"--mandate", "-", "--bundle", "-"}} {
		_, err = pay(append(wrong, report)...)
		require.Equal(t, exitUsage, exitCode(err), "%v", err)
	}

	order := fmt.Sprintf(`{"tier":"small","mandate":%q}`, done.Mandate)
	text, err = pay(s.API.Bundle.PurchaseURL, "--data", order, "--json")
	require.NoError(t, err, text)
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	var bought struct{ BundleToken string }
	require.NoError(t, json.Unmarshal([]byte(p.Content), &bought))
	text, err = pay(s.API.BaseURL+"/weather", "--bundle", bought.BundleToken)
	require.NoError(t, err, text)
	require.Contains(t, text, "credits left  99")
	require.Contains(t, text, "temperature")
	_, err = pay(append(means, s.API.BaseURL+"/search", "--data", "no JSON")...)
	require.ErrorContains(t, err, "was paid and answered 400")
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), stats.TransactionCount)
}

// TestPayFromAWallet: the key is in a file, and stands in no output.
func TestPayFromAWallet(t *testing.T) {
	t.Parallel()
	s, err := startDevSystem(t.Context(), devSystemConfig{Addr: "127.0.0.1:0", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	key := devchain.Wallets()[0].PrivateKey()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(key+"\n"), 0o600))
	text, err := command(t, "pay", s.API.BaseURL+"/weather", "--wallet", file, "--json")
	require.NoError(t, err, text)
	var p paid
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	require.Equal(t, []any{agent.X402, "0.01", 200}, []any{p.Choice.Method, p.Choice.Price, p.Status})
	require.Regexp(t, "^0x[0-9a-f]{64}$", p.Receipt.Transaction)
	require.NotContains(t, text, key[2:])

	for _, wrong := range []string{filepath.Join(t.TempDir(), "nowhere"), t.TempDir()} {
		_, err = command(t, "pay", s.API.BaseURL+"/weather", "--wallet", wrong)
		require.ErrorContains(t, err, "--wallet")
	}
	require.NoError(t, os.WriteFile(file, []byte(key[:60]), 0o600))
	_, err = command(t, "pay", s.API.BaseURL+"/weather", "--wallet", file)
	require.ErrorContains(t, err, "64 hexadecimal digits")
	require.NotContains(t, err.Error(), key[2:20])
}

// TestPayWithAJournalPaysOnce: a run that does not get its answer, and the one after it, make one
// payment; so do all runs with one key.
func TestPayWithAJournalPaysOnce(t *testing.T) {
	t.Parallel()
	s := developed(t, func(c *devSystemConfig) { c.NoChain = false })
	api, err := url.Parse(s.API.BaseURL)
	require.NoError(t, err)
	var credentials []string
	broken := true
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if credential := r.Header.Get(x402.HeaderPaymentSignature); credential != "" {
			credentials = append(credentials, credential)
			if broken {
				panic(http.ErrAbortHandler)
			}
		}
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(api); p.Out.Host = p.In.Host }}).ServeHTTP(w, r)
	}))
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(front.Close)
	file, book := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "purchases")
	require.NoError(t, os.WriteFile(file, []byte(devchain.Wallets()[0].PrivateKey()), 0o600))
	pay := func(more ...string) error {
		_, err := command(t, append([]string{"pay", front.URL + "/weather", "--wallet", file, "--json"}, more...)...)
		return err
	}
	require.Error(t, pay("--journal", book))
	broken = false
	require.NoError(t, pay("--journal", book))
	require.Len(t, slices.Compact(slices.Clone(credentials)), 1, "one payment")

	require.NoError(t, pay("--journal", book, "--purchase-key", "order 1"))
	sent := len(credentials)
	require.ErrorIs(t, pay("--journal", book, "--purchase-key", "order 1"), agent.ErrPurchased)
	require.Len(t, credentials, sent, "nothing was sent")

	err = pay("--purchase-key", "order 1")
	require.ErrorContains(t, err, "--purchase-key needs --journal")
	require.Equal(t, exitUsage, exitCode(err))
	held, err := journal.OpenFile(book)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, held.Close()) })
	err = pay("--journal", book)
	require.ErrorContains(t, err, "--journal")
	require.ErrorContains(t, err, "another process")
	require.Equal(t, exitUsage, exitCode(err))
}

func TestStrangersTextMovesNoCursor(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\n\tb[2J", printable("a\n\tb\x1b[2J\u009b\r"))
	require.Equal(t, "ü", strings.TrimSpace(printable("ü")))
}
