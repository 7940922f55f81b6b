package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
)

// developed starts a development system of cards.
func developed(t *testing.T, change func(*devSystemConfig)) *devSystem {
	t.Helper()
	cfg := devSystemConfig{Addr: "127.0.0.1:0", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), NoChain: true}
	if change != nil {
		change(&cfg)
	}
	s, err := startDevSystem(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func request(t *testing.T, method, url string, header http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	r.Header = header
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// TestScreenShowsCommandsThatPay: what a person sees is short, names files that only
// its owner reads, and its credentials work.
func TestScreenShowsCommandsThatPay(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	var out bytes.Buffer
	require.NoError(t, devCmd{}.show(t.Context(), s, &envFile{}, output{&out, io.Discard}, true, slog.New(slog.DiscardHandler)))
	text := out.String()
	for _, want := range []string{s.BaseURL + "/ ", s.API.BaseURL + "/weather", "del_", "/report", "webhooks trigger"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, s.People.Merchant.APIKey)
	require.Less(t, strings.Count(text, "\n"), 24, "it fits a terminal")
	for _, name := range []string{"dev.json", "dev.env"} {
		info, err := os.Stat(filepath.Join(s.Dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	line, err := os.ReadFile(filepath.Join(s.Dir, "dev.json"))
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(line, []byte("\n")))

	env, err := os.ReadFile(filepath.Join(s.Dir, "dev.env"))
	require.NoError(t, err)
	values := map[string]string{}
	for l := range strings.Lines(string(env)) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		values[strings.TrimPrefix(name, "export ")] = value
	}
	var paid bytes.Buffer
	err = payCmd{
		URL: s.API.BaseURL + "/report", Mandate: values["SERVICE_MANDATE"], Max: "0.50", Service: values["SERVICE_API_URL"],
		Token: values["SERVICE_ACCESS_TOKEN"],
	}.Run(t.Context(), output{&paid, io.Discard})
	require.NoError(t, err, paid.String())
	require.Contains(t, paid.String(), "Climate report")
}

func TestWithoutATerminalThereIsOneLineOfJSON(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	var out bytes.Buffer
	env := filepath.Join(t.TempDir(), "my.env")
	require.NoError(t, devCmd{Env: env}.show(t.Context(), s, &envFile{path: env}, output{&out, io.Discard}, false, slog.New(slog.DiscardHandler)))
	sh := exec.CommandContext(t.Context(), "sh", "-c", `. "$0" && echo $SERVICE_API_URL $PAY_TO $API && echo $SERVICE_MANDATE`, env)
	sourced, err := sh.Output()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(sourced), s.BaseURL+" "+s.People.Merchant.PayTo+" "+s.API.BaseURL+"\ndtok_"), "%s", sourced)
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.NoFileExists(t, filepath.Join(s.Dir, "dev.env"))
	require.False(t, isTerminal(&out))
	none, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer none.Close()
	require.False(t, isTerminal(none))
}

// TestEveryAddressNeedsABaseURL: the service cannot guess where clients reach it.
func TestEveryAddressNeedsABaseURL(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:4020", "[::]:4020", ":4020", "4020"} {
		_, err := devCmd{Addr: addr}.checkAddr()
		require.ErrorContains(t, err, "--addr")
		require.Equal(t, exitUsage, exitCode(err))
	}
	for _, base := range []string{"http://192.0.2.1:4020", "https://x.example/path", "x"} {
		_, err := devCmd{Addr: "0.0.0.0:4020", BaseURL: base}.checkAddr()
		require.ErrorContains(t, err, "--base-url")
	}
	base, err := devCmd{Addr: "0.0.0.0:4020", BaseURL: "http://127.0.0.1:4020/"}.checkAddr()
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:4020", base)
}

// TestServiceBehindAnotherURLWorks: it listens on every address, clients know it by the
// base URL, and the demo API reaches it though nothing answers there.
func TestServiceBehindAnotherURLWorks(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://127.0.0.1:1", "https://pay.example"} {
		s := developed(t, func(c *devSystemConfig) { c.Addr, c.APIAddr, c.BaseURL = "0.0.0.0:0", "0.0.0.0:0", base })
		require.True(t, strings.HasPrefix(s.API.BaseURL, "http://127.0.0.1:"), s.API.BaseURL)
		resp, _ := request(t, http.MethodGet, s.API.BaseURL+"/weather", http.Header{})
		require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
		c, err := s.client()
		require.NoError(t, err)
		session, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 100, MaxMonthlySpendCents: 100})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(session.SetupURL, base+"/setup/"), session.SetupURL)
		var out bytes.Buffer
		require.NoError(t, devCmd{}.show(t.Context(), s, &envFile{}, output{&out, io.Discard}, true, slog.New(slog.DiscardHandler)))
		require.Equal(t, s.local(), strings.Contains(out.String(), "del_"))
	}
}

func TestDemoAPIAnswersScriptsOfOtherSites(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	for _, path := range []string{"/weather", "/search", "/bundles", "/none"} {
		resp, _ := request(t, http.MethodOptions, s.API.BaseURL+path, http.Header{
			"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"x-payment"},
		})
		require.Equal(t, http.StatusNoContent, resp.StatusCode)
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "X-PAYMENT")
	}
	resp, _ := request(t, http.MethodGet, s.API.BaseURL+"/weather", http.Header{"Origin": {"https://app.example"}})
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, strings.Join(resp.Header.Values("Access-Control-Expose-Headers"), ","), "PAYMENT-REQUIRED")
}

// TestStartPageLinksToWhatRuns: every link of the page leads somewhere.
func TestStartPageLinksToWhatRuns(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	resp, page := request(t, http.MethodGet, s.BaseURL+"/", http.Header{"Accept": {"text/html"}})
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	for _, l := range s.links() {
		require.Contains(t, page, l.Name)
		if l.URL == "" || l.Post != nil {
			continue
		}
		url := l.URL
		if strings.HasPrefix(url, "/") {
			url = s.BaseURL + url
		}
		resp, _ := request(t, http.MethodGet, url, http.Header{"Accept": {"text/html"}})
		require.Contains(t, []int{http.StatusOK, http.StatusPaymentRequired}, resp.StatusCode, url)
	}
	resp, text := request(t, http.MethodGet, s.BaseURL+"/", http.Header{"Accept": {"*/*"}})
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.Contains(t, text, s.BaseURL+"/openapi.json")
	resp, _ = request(t, http.MethodGet, s.API.BaseURL+"/", http.Header{})
	require.Equal(t, s.BaseURL+"/", resp.Header.Get("Location"))
	resp, _ = request(t, http.MethodGet, s.BaseURL+"/none", http.Header{"Accept": {"text/html"}})
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

// TestSetupButtonIsGuardedAsThePagesAre: only the form of the start page makes a setup
// session. GET, another host's name and another site make none.
func TestSetupButtonIsGuardedAsThePagesAre(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	address := s.BaseURL + newSetupPath
	_, page := request(t, http.MethodGet, s.BaseURL+"/", http.Header{"Accept": {"text/html"}})
	require.Contains(t, page, `<form method="post" action="`+newSetupPath+`">`)
	resp, _ := request(t, http.MethodPost, address, http.Header{"Origin": {s.BaseURL}})
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	_, setup := request(t, http.MethodGet, s.BaseURL+resp.Header.Get("Location"), http.Header{})
	require.Contains(t, setup, "Confirm these limits")

	resp, _ = request(t, http.MethodGet, address, http.Header{})
	require.Equal(t, []any{http.StatusSeeOther, "/"}, []any{resp.StatusCode, resp.Header.Get("Location")})
	resp, _ = request(t, http.MethodPost, address, http.Header{"Origin": {"https://evil.example"}})
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, http.NoBody)
	require.NoError(t, err)
	r.Host = "rebound.example"
	rebound, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, rebound.Body.Close())
	require.Equal(t, http.StatusMisdirectedRequest, rebound.StatusCode)
}

// TestMailIsShownInTheMailbox: that of a sandbox on this machine, newest first.
func TestMailIsShownInTheMailbox(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	open := func(s *devSystem, path string) string {
		_, page := request(t, http.MethodGet, s.BaseURL+path, http.Header{"Accept": {"text/html"}})
		return page
	}
	require.Contains(t, open(s, "/"), `href="/mailbox"`)
	require.Contains(t, open(s, "/mailbox"), "No message yet.")
	for _, subject := range []string{"<b>one</b>", "two"} {
		m := server.Message{To: "ada@example.com", Subject: subject, Text: "See:\nhttps://pay.example/m/x\n"}
		require.NoError(t, s.mailbox.Mail(t.Context(), m))
	}
	page := open(s, "/mailbox")
	require.Less(t, strings.Index(page, "two"), strings.Index(page, "&lt;b&gt;one"))
	require.Contains(t, page, `href="https://pay.example/m/x"`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+"/mailbox", http.NoBody)
	require.NoError(t, err)
	r.Host = "rebound.example"
	rebound, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, rebound.Body.Close())
	require.Equal(t, http.StatusMisdirectedRequest, rebound.StatusCode)
}

// TestMailboxIsNotPublic: it shows private links, so a sandbox under a public address has none.
func TestMailboxIsNotPublic(t *testing.T) {
	t.Parallel()
	s := developed(t, func(c *devSystemConfig) { c.BaseURL = "https://pay.example" })
	w := httptest.NewRecorder()
	s.Service.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+"/mailbox", http.NoBody))
	require.Equal(t, http.StatusNotFound, w.Code)
}

// TestMovedClockIsEverybodys: after a test helper has moved the clock, mandates still pay the
// demo API, and the receipt of a card payment is not too old.
func TestMovedClockIsEverybodys(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	c, err := s.client()
	require.NoError(t, err)
	_, err = c.AdvanceTestClock(t.Context(), 40*24*time.Hour)
	require.NoError(t, err)
	session, _, err := s.ownMandate(t.Context())
	require.NoError(t, err)
	resp, text := request(t, http.MethodGet, s.API.BaseURL+"/report", http.Header{"X-Service-Mandate": {session.Mandate}, "Idempotency-Key": {"one"}})
	require.Equal(t, http.StatusOK, resp.StatusCode, text)
	verdict, err := c.VerifyReceipt(t.Context(), client.ReceiptParams{
		Receipt: resp.Header.Get("X-Payment-Response"), Resource: s.API.BaseURL + "/report", PayTo: s.People.Merchant.PayTo, Amount: "0.50",
	})
	require.NoError(t, err)
	require.True(t, verdict.Valid, verdict.Reason)
}
