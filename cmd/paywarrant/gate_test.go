package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const gateWallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

// gateBench is a gate that the command runs from a file.
type gateBench struct {
	file, url, admin string
	text             string // of the file, without routes
	mandate          string
	service          *servertest.Server
}

func newGateBench(t *testing.T) *gateBench {
	t.Helper()
	b := &gateBench{file: filepath.Join(t.TempDir(), "gate.toml")}
	b.service = servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: gateWallet}})
	b.mandate = b.service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "sunny") }))
	t.Cleanup(behind.Close)
	key := filepath.Join(t.TempDir(), "api.key")
	require.NoError(t, os.WriteFile(key, []byte(b.service.Merchant.APIKey+"\n"), 0o600))
	gate, admin := freeAddress(t), freeAddress(t)
	b.url, b.admin = "http://"+gate, "http://"+admin
	b.text = fmt.Sprintf("upstream = %q\nservice = %q\npay_to = %q\ntest_mode = true\nlisten = %q\nadmin = %q\nmerchant_id = %q\napi_key_file = %q\nredemptions = %q\n",
		behind.URL, b.service.URL, gateWallet, gate, admin, b.service.Merchant.ID, key, filepath.Join(t.TempDir(), "gate.db"))
	return b
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (b *gateBench) write(t *testing.T, routes string) {
	t.Helper()
	next := b.file + ".next"
	require.NoError(t, os.WriteFile(next, []byte(b.text+routes), 0o600))
	require.NoError(t, os.Rename(next, b.file))
}

// run runs the command until stop.
func (b *gateBench) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"gate", "--config", b.file}, output{io.Discard, io.Discard}) }()
	require.Eventually(t, func() bool {
		select {
		case err := <-done:
			done <- err
			return true
		default:
			return b.get(t, b.admin+"/readyz", "").status == http.StatusOK
		}
	}, 20*time.Second, 20*time.Millisecond)
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

type gateAnswer struct {
	status int
	body   string
}

func (b *gateBench) get(t *testing.T, url, mandate string) gateAnswer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if mandate != "" {
		r.Header.Set("X-Service-Mandate", mandate)
		r.Header.Set("Idempotency-Key", "once")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return gateAnswer{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return gateAnswer{resp.StatusCode, string(body)}
}

// TestGateReloadsItsFile: a change takes effect while the gate runs, one with an error or of the
// listener does not, and what was redeemed is remembered over a restart.
func TestGateReloadsItsFile(t *testing.T) {
	t.Parallel()
	b := newGateBench(t)
	route := func(price string) string {
		return fmt.Sprintf("[[routes]]\npath = \"GET /weather\"\nprice = %q\n", price)
	}
	b.write(t, route("0.60"))
	stop := b.run(t)
	require.Equal(t, gateAnswer{http.StatusOK, "sunny"}, b.get(t, b.url+"/weather", b.mandate))
	metric := func(line string) func() bool {
		return func() bool { return strings.Contains(b.get(t, b.admin+"/metrics", "").body, line+"\n") }
	}
	require.True(t, metric(`paywarrant_gate_paid_micro_dollars_total{route="GET /weather"} 600000`)())

	b.write(t, route("free"))
	require.Eventually(t, metric(`paywarrant_gate_reloads_total{result="failed"} 1`), 20*time.Second, 20*time.Millisecond)
	b.write(t, route("0.80")+"[[routes]]\npath = \"GET /new\"\nfree = true\n")
	require.Eventually(t, metric(`paywarrant_gate_reloads_total{result="loaded"} 1`), 20*time.Second, 20*time.Millisecond)
	require.Equal(t, gateAnswer{http.StatusOK, "sunny"}, b.get(t, b.url+"/new", ""))
	require.Contains(t, b.get(t, b.url+"/openapi.json", "").body, `"amount":"800000"`)
	before := b.text
	b.text = strings.Replace(before, "listen = ", "log_level = \"debug\"\nlisten = ", 1)
	b.write(t, route("0.90"))
	require.Eventually(t, metric(`paywarrant_gate_reloads_total{result="failed"} 2`), 20*time.Second, 20*time.Millisecond)
	stop()

	b.text = before
	b.write(t, route("0.60"))
	stop = b.run(t)
	require.Contains(t, b.get(t, b.url+"/weather", b.mandate).body, "already_redeemed", "it was served before")
	stop()
	balance, err := b.service.Client().Balance(t.Context(), b.mandate)
	require.NoError(t, err)
	require.EqualValues(t, 60, balance.CurrentMonthlySpendCents)
}

func TestGateRefusesAConfiguration(t *testing.T) {
	t.Parallel()
	b := newGateBench(t)
	b.text = strings.NewReplacer(strings.TrimPrefix(b.url, "http://"), "127.0.0.1:0", strings.TrimPrefix(b.admin, "http://"), "127.0.0.1:0").Replace(b.text)
	good := "[[routes]]\npath = \"GET /weather\"\nprice = \"0.60\"\n"
	for want, change := range map[string][2]string{
		"unknown key colour":              {"test_mode", "colour = 1\ntest_mode"},
		"unknown key routes.colour":       {"price", "colour = 1\nprice"},
		"line 1":                          {"upstream", "upstream upstream"},
		"upstream: is required":           {"upstream", "# upstream"},
		"pay_to: ":                        {gateWallet, "0x1"},
		"price: ":                         {"0.60", "0.0000001"},
		"merchant_id and api_key_file":    {"merchant_id", "# merchant_id"},
		"api_key_file: stat nothing":      {"api_key_file = \"", "api_key_file = \"nothing"},
		"timeout: \"soon\"":               {"test_mode", "timeout = \"soon\"\ntest_mode"},
		"trusted_proxies: \"x\"":          {"test_mode", "trusted_proxies = [\"x\"]\ntest_mode"},
		"log_level: must be":              {"test_mode", "log_level = \"loud\"\ntest_mode"},
		"redemptions: store: mysql://":    {"redemptions = \"", "redemptions = \"mysql://"},
		"price: is required, or free":     {"price", "# price"},
		"a free route has no price":       {"price", "free = true\nprice"},
		"output_schema: is required with": {"price", "description = \"x\"\nprice"},
		"secret_file: stat nothing":       {"test_mode", "secret_file = \"nothing\"\ntest_mode"},
	} {
		text := strings.Replace(b.text+good, change[0], change[1], 1)
		require.NotEqual(t, b.text+good, text)
		file := filepath.Join(t.TempDir(), "gate.toml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var out bytes.Buffer
		err := run(t.Context(), []string{"gate", "--config", file}, output{&out, &out})
		require.ErrorContains(t, err, want)
		require.Equal(t, exitUsage, exitCode(err), want)
		require.NotContains(t, err.Error(), b.service.Merchant.APIKey)
	}
	for _, args := range [][]string{{}, {"--upstream", "http://x"}, {"--upstream", "http://x", "--price", "1"}, {"--upstream", "x", "--price", "1", "--pay-to", gateWallet}} {
		_, err := command(t, append([]string{"gate"}, args...)...)
		require.Equal(t, exitUsage, exitCode(err), "%v", err)
	}
}

// TestGateWithAWrongKeyDoesNotStart, and one whose service does not answer does, with a warning.
func TestGateWithAWrongKeyDoesNotStart(t *testing.T) {
	b := newGateBench(t)
	t.Setenv("SERVICE_API_KEY", "sk_test_wrong")
	args := func(service string) []string {
		return []string{
			"gate", "--upstream", "http://127.0.0.1:1", "--price", "0.01", "--test", "--listen", "127.0.0.1:0", "--pay-to", gateWallet,
			"--service", service, "--merchant-id", b.service.Merchant.ID,
		}
	}
	err := run(t.Context(), args(b.service.URL), output{io.Discard, io.Discard})
	require.ErrorContains(t, err, b.service.URL+" refuses the merchant id and its API key")
	require.NotContains(t, err.Error(), "sk_test_wrong")

	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, args("http://127.0.0.1:1"), output{io.Discard, out})
		_ = out.Close()
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "the service does not answer; nothing can be paid until it does")
	go func() { _, _ = io.Copy(io.Discard, in) }()
	cancel()
	require.NoError(t, <-done)
}

// TestFlagsBesideTheFileAreRefused: they would be ignored.
func TestFlagsBesideTheFileAreRefused(t *testing.T) {
	t.Parallel()
	b := newGateBench(t)
	b.write(t, "[[routes]]\npath = \"/\"\nprice = \"0.01\"\n")
	for _, flags := range [][]string{{"--price", "1"}, {"--test"}, {"--origin", "https://a.example"}, {"--listen", "127.0.0.1:0"}} {
		err := run(t.Context(), append([]string{"gate", "--config", b.file}, flags...), output{io.Discard, io.Discard})
		require.ErrorContains(t, err, flags[0]+": --config replaces it")
		require.Equal(t, exitUsage, exitCode(err))
	}
}
