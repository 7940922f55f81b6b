package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/webhook"
)

// TestListenSendsAgainWhatTheReceiverRefused: with the body of the refusal shown, and
// the secret the same at each start; resend sends the event once more.
func TestListenSendsAgainWhatTheReceiverRefused(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	who := []string{"--url", srv.URL, "--merchant-id", srv.Merchant.ID, "--api-key", srv.Merchant.APIKey}
	to := receiver{}
	require.NoError(t, to.check(account{APIKey: srv.Merchant.APIKey}))
	got := make(chan webhook.Event, 10)
	var calls atomic.Int64
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := webhook.Verifier{Secrets: []string{to.Secret}}.Verify(r.Header, body)
		switch {
		case err != nil:
			t.Error(err)
		case calls.Add(1) == 1:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		got <- e
	}))
	defer local.Close()
	ctx, stop := context.WithCancel(t.Context())
	notes, told := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		args := []string{"webhooks", "listen", "--json", "--events", "payment.succeeded", "--forward-to", local.URL}
		ended <- run(ctx, append(args, who...), output{io.Discard, told})
		_ = told.Close()
	}()
	first := make([]byte, len("Listening"))
	_, err := io.ReadFull(notes, first)
	require.NoError(t, err)
	require.Equal(t, "Listening", string(first))
	said := make(chan []byte, 1)
	go func() { text, _ := io.ReadAll(notes); said <- text }()
	require.NoError(t, run(t.Context(), append([]string{"webhooks", "trigger", "payment.succeeded"}, who...), output{io.Discard, io.Discard}))
	e := <-got
	require.Equal(t, webhook.PaymentSucceeded, e.Type, "the others are not forwarded")

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), append([]string{"webhooks", "resend", e.ID, "--forward-to", local.URL}, who...), output{&out, io.Discard}))
	require.Equal(t, e.ID, (<-got).ID)
	require.Contains(t, out.String(), "200 OK")
	require.Error(t, run(t.Context(), append([]string{"webhooks", "resend", "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV", "--forward-to", local.URL}, who...), output{&out, io.Discard}))
	stop()
	require.NoError(t, <-ended)
	require.Contains(t, string(<-said), `"status":"503 Service Unavailable","body":"not yet","retryInSeconds":1}`)
}

// TestFlagsAreCheckedBeforeTheFirstEvent, and name the environment variables that set them.
func TestFlagsAreCheckedBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	who := []string{"--merchant-id", "mer_x", "--api-key", "sk_test_x", "--url", "http://127.0.0.1:1"}
	for want, args := range map[string][]string{
		"--forward-to: \"localhost:3000\" is not a URL": append([]string{"webhooks", "listen", "--forward-to", "localhost:3000"}, who...),
		"--secret: ":                                       append([]string{"webhooks", "listen", "--secret", "foo"}, who...),
		"--events: there is no type \"payment\"":           append([]string{"webhooks", "listen", "--events", "payment"}, who...),
		"set SERVICE_MERCHANT_ID":                          {"webhooks", "trigger", "payment.failed"},
		"set SERVICE_API_KEY":                              {"webhooks", "listen", "--merchant-id", "mer_x"},
		"--max-daily: \"0\" is not an amount of dollars":   append([]string{"mandate", "create", "--max-daily", "0"}, who...),
		"--max-payments-per-day: -1 is not a number":       append([]string{"mandate", "create", "--max-payments-per-day=-1"}, who...),
		"--monthly: \"much\" is not an amount of dollars":  append([]string{"mandate", "create", "--monthly", "much"}, who...),
		"unexpected argument deve, did you mean":           {"deve"},
		"keys list, keys rotate, keys revoke, keys rewrap": {"keys"},
		"--junit: there is no folder":                      {"validate", "http://127.0.0.1:1/", "--junit", "/nope/x.xml"},
		"--addr: listen tcp: address 99999":                {"sandbox-processor", "--file", filepath.Join(t.TempDir(), "p.db"), "--addr", "127.0.0.1:99999"},
		"(dtok_…)":                                         {"mandate", "inspect", "foo"},
	} {
		err := run(t.Context(), args, output{io.Discard, io.Discard})
		require.ErrorContains(t, err, want)
		require.Equal(t, exitUsage, exitCode(err), want)
	}
	err := run(t.Context(), []string{"serve", "--config", "/nope/x.toml"}, output{io.Discard, io.Discard})
	require.NotContains(t, err.Error(), "lists the commands", "a file is missing, not a command")
}

// TestErrorsAreJSONWhereJSONWasAskedFor: on standard error, with the exit code.
func TestErrorsAreJSONWhereJSONWasAskedFor(t *testing.T) {
	t.Parallel()
	var plain, asked bytes.Buffer
	complain(&plain, []string{"keys", "list"}, usage("no store"))
	require.Equal(t, "paywarrant: no store\n", plain.String())
	complain(&asked, []string{"keys", "list", "--json"}, usage("no store"))
	require.JSONEq(t, `{"error":"no store","exitCode":2}`, asked.String())
	asked.Reset()
	complain(&asked, nil, errSaid)
	complain(&asked, nil, &os.PathError{Err: syscall.EPIPE})
	require.Empty(t, asked.String())
}

// TestMandateIsMadeInASandbox: mandate create prints a token that pays.
func TestMandateIsMadeInASandbox(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	who := []string{"--url", srv.URL, "--merchant-id", srv.Merchant.ID, "--api-key", srv.Merchant.APIKey}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), append([]string{"mandate", "create", "--per-tx", "2.50", "--monthly", "7", "--json"}, who...), output{&out, io.Discard}))
	var made struct{ DelegateID, IntentMandate string }
	require.NoError(t, json.Unmarshal(out.Bytes(), &made))
	_, err := mandate.Peek(made.IntentMandate)
	require.NoError(t, err)
	b, err := srv.Client().Balance(t.Context(), made.IntentMandate)
	require.NoError(t, err)
	require.EqualValues(t, 250, b.MaxPerTxCents)
	require.EqualValues(t, 700, b.MaxMonthlySpendCents)
	require.Equal(t, made.DelegateID, b.MandateID)
	require.Zero(t, b.FurtherLimits)
	err = run(t.Context(), append([]string{"mandate", "create", "--per-tx", "1000000"}, who...), output{&out, io.Discard})
	require.ErrorContains(t, err, "--per-tx must be an integer of US cents")
	require.Equal(t, exitRefused, exitCode(err))
}

func TestMandateIsMadeAndPrintedWithEachFurtherLimit(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	token, err := command(t, "mandate", "create", "--url", srv.URL, "--merchant-id", srv.Merchant.ID, "--api-key", srv.Merchant.APIKey,
		"--max-daily", "3", "--max-total", "20.50", "--max-payments-per-day", "4", "--max-per-payee", "6")
	require.NoError(t, err)
	token = strings.TrimSpace(token)
	b, err := srv.Client().Balance(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, client.FurtherLimits{MaxDailySpendCents: 300, MaxTotalSpendCents: 2050, MaxPaymentsPerDay: 4, MaxMonthlyPerPayeeCents: 600}, b.FurtherLimits)
	text, err := inspect(t, token)
	require.NoError(t, err)
	for _, line := range []string{
		`(?m)^A day +up to \$3\.00 `, `(?m)^In all +up to \$20\.50 `, `(?m)^Payments a day +up to 4 `, `(?m)^One payee +up to \$6\.00 a month$`,
	} {
		require.Regexp(t, line, text)
	}
	text, err = inspect(t, token, "--json")
	require.NoError(t, err)
	require.Contains(t, text, `"maxPaymentsPerDay": 4`)
}

// TestSecondDevOnADataFolderIsRefused, until the first one has ended.
func TestSecondDevOnADataFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unlock, err := lockFolder(dir)
	require.NoError(t, err)
	err = run(t.Context(), []string{"dev", "--addr", "127.0.0.1:0", "--no-chain", "--data", dir}, output{io.Discard, io.Discard})
	require.ErrorContains(t, err, "--data: another process uses "+dir)
	require.NoError(t, unlock())
	again, err := lockFolder(dir)
	require.NoError(t, err)
	require.NoError(t, again())
}

// TestLedgerCheckTakesTheConfiguration of serve, or a store; not neither.
func TestLedgerCheckTakesTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "pay.db"))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), bytes.Repeat([]byte{'a'}, 64), 0o600))
	file := filepath.Join(dir, "pay.toml")
	text := fmt.Sprintf("mode = \"sandbox\"\nbase_url = \"http://127.0.0.1:4020\"\nlisten = \"127.0.0.1:4020\"\nstore = %q\nkey_file = %q\n",
		filepath.Join(dir, "pay.db"), filepath.Join(dir, "key"))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	for _, from := range [][]string{{"--config", file}, {"--store", filepath.Join(dir, "pay.db")}} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), append([]string{"ledger", "check", "--json"}, from...), output{&out, io.Discard}))
		require.JSONEq(t, `{"mandates":0,"charges":0,"succeeded":0,"failed":0,"pending":0,"postings":0,"volumeMicros":0,"writtenOff":0,"inSessionsMicros":0,"advancedMicros":0,"faults":[]}`, out.String())
	}
	require.Equal(t, exitUsage, exitCode(run(t.Context(), []string{"ledger", "check"}, output{io.Discard, io.Discard})))
}

// TestDemoWhoseReaderIsGoneLeavesNothingBehind: demo | head -1.
func TestDemoWhoseReaderIsGoneLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	program, err := programtest.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	tmp := t.TempDir()
	demo := exec.CommandContext(t.Context(), "bash", "-c", `set -o pipefail; "$0" demo | head -1`, program)
	demo.Env = append(os.Environ(), "TMPDIR="+tmp)
	_, _ = demo.Output() // that it fails, or that nothing was left to write, is not the point
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	for _, f := range left {
		require.NotContains(t, f.Name(), "paywarrant", "left behind")
	}
}
