package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// place is a configuration of a sandbox that is not running.
type place struct{ config, store string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	p := place{config: filepath.Join(dir, "pay.toml"), store: filepath.Join(dir, "pay.db")}
	text := fmt.Sprintf("mode = \"sandbox\"\nbase_url = \"http://127.0.0.1:4020\"\nstore = %q\nkey_file = %q\n", p.store, filepath.Join(dir, "kek"))
	require.NoError(t, os.WriteFile(p.config, []byte(text), 0o600))
	return p
}

// do runs a command line with --config, and returns what it printed.
func (p place) do(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := run(t.Context(), append(args, "--config", p.config), output{&out, &errs})
	return out.String(), err
}

// TestConfigurationErrorsNameTheKey: before anything is opened or made.
func TestConfigurationErrorsNameTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, problem string }{
		{`base_url = "ftp://x"`, "base_url: must be https; http only for loopback addresses"},
		{`base_url = "https://pay.example/path"`, "base_url: must be an origin"},
		{`store = "mysql://x"`, "store: mysql:// is not supported"},
		{`store = "/nope/x.db"`, "store: there is no folder /nope"},
		{`lame_duck = "2m"`, `lame_duck: must be a text such as "5s"`},
	} {
		p := newPlace(t)
		key, _, _ := strings.Cut(c.line, " ")
		text, err := os.ReadFile(p.config)
		require.NoError(t, err)
		var lines []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, key+" ") {
				lines = append(lines, line)
			}
		}
		require.NoError(t, os.WriteFile(p.config, []byte(strings.Join(append(lines, c.line), "")), 0o600))
		_, err = p.do(t, "merchants", "list")
		require.ErrorContains(t, err, c.problem)
		require.NotContains(t, err.Error(), "BaseURL")
	}
}

// ok runs a command line with --json, and returns the objects that it printed.
func (p place) ok(t *testing.T, args ...string) (objects []map[string]any) {
	t.Helper()
	out, err := p.do(t, append(args, "--json")...)
	require.NoError(t, err)
	for line := range strings.Lines(out) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		objects = append(objects, v)
	}
	return objects
}

func (p place) merchant(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.do(t, append([]string{"merchants", "create", "--name", "Acme"}, args...)...)
	require.NoError(t, err)
	var made newMerchant
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	return made.ID
}

func TestMerchantsAreListedSuspendedAndLimited(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.merchant(t)
	p.merchant(t)
	require.Len(t, p.ok(t, "merchants", "list"), 2)
	require.Equal(t, false, p.ok(t, "merchants", "suspend", first, "--reason", "chargebacks")[0]["active"])
	require.Equal(t, true, p.ok(t, "merchants", "activate", first)[0]["active"])
	require.EqualValues(t, 2500, p.ok(t, "merchants", "set-limit", first, "25.00")[0]["maxChargeCents"])
	require.NotContains(t, p.ok(t, "merchants", "set-limit", first, "none")[0], "maxChargeCents")
	require.Equal(t, "ada@example.com", p.ok(t, "merchants", "set-email", first, "ada@example.com")[0]["email"])
	require.NotContains(t, p.ok(t, "merchants", "set-email", first, "none")[0], "email")
	_, err := p.do(t, "merchants", "set-email", first, "Ada <ada@example.com>")
	require.ErrorContains(t, err, "not an email address")
	out, err := p.do(t, "merchants", "list")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, strings.Index(lines[0], "STATE"), strings.Index(lines[1], "active"), "columns are aligned:\n"+out)
	_, err = p.do(t, "merchants", "show", "mer_none")
	require.EqualError(t, err, "merchant mer_none: not found")
	_, err = p.do(t, "merchants", "set-limit", first, "-1")
	require.Error(t, err)
}

func TestMerchantsOfWrongParametersAreRefusedByTheFlag(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	p.merchant(t, "--pay-to", wallet)
	for want, args := range map[string][]string{
		"--pay-to: another merchant has this wallet": {"--pay-to", wallet},
		"--email: not an email address":              {"--email", "nope"},
		`--website: not a URL`:                       {"--website", "shop"},
	} {
		_, err := p.do(t, append([]string{"merchants", "create", "--name", "B"}, args...)...)
		require.ErrorContains(t, err, want)
		require.Equal(t, exitUsage, exitCode(err))
	}
}

func TestAPIKeysAreMadeAndRevokedByTheirIDs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := p.merchant(t)
	made := p.ok(t, "api-keys", "create", m, "--label", "billing", "--scope", "refund,read")[0]
	require.Equal(t, []any{"read", "refund"}, made["scopes"])
	_, err := p.do(t, "api-keys", "create", m, "--scope", "pay")
	require.ErrorContains(t, err, "--scope")
	plain := made["apiKey"].(string)
	require.Equal(t, plain[len(plain)-4:], made["lastFour"])
	listed := p.ok(t, "api-keys", "list", m)
	require.Len(t, listed, 2)
	require.Equal(t, "billing", listed[1]["label"])
	require.NotContains(t, listed[1], "apiKey")
	keyID := made["id"].(string)
	require.Contains(t, p.ok(t, "api-keys", "revoke", keyID[:12], "--reason", "leaked")[0], "revokedAt")
	_, err = p.do(t, "api-keys", "revoke", keyID)
	require.ErrorContains(t, err, "revoked already")
	_, err = p.do(t, "api-keys", "revoke", plain)
	require.ErrorContains(t, err, "not found")
	require.NotContains(t, err.Error(), plain)
	out, err := p.do(t, "api-keys", "list", m)
	require.NoError(t, err)
	require.NotContains(t, out, plain)
}

// TestChargesShowWhatIsHeldAndGivenBack covers the table and the object of a charge.
func TestChargesShowWhatIsHeldAndGivenBack(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := lineOfCharge(ledger.Charge{Status: ledger.ChargeAuthorized, Amount: 4e6, Authorized: 4e6, AuthorizedUntil: until})
	require.Equal(t, "authorized until 2026-11-22T12:00:00Z", statusOf(l))
	require.EqualValues(t, 4_000_000, l.Authorized)
	refunded := lineOfCharge(ledger.Charge{Status: ledger.ChargeSucceeded, Amount: 4e6, Refunded: 1e6, Refunding: 5e5})
	require.Equal(t, []int64{1e6, 5e5}, []int64{refunded.Refunded, refunded.Refunding})
	l.Status = string(ledger.ChargeSucceeded)
	require.Equal(t, "succeeded", statusOf(l))
	require.Equal(t, "tab_1", lineOfCharge(ledger.Charge{TabID: "tab_1"}).TabID)

	p := newPlace(t)
	c := p.paid(t, p.merchant(t), "x", 2_000_000, until)
	p.refunded(t, c, until)
	shown := p.ok(t, "charges", "show", c.ID)[0]["refunds"].([]any)
	require.Len(t, shown, 1)
	require.Equal(t, p.ok(t, "refunds", "list", c.ID)[0], shown[0])
	text, err := p.do(t, "charges", "show", c.ID)
	require.NoError(t, err)
	require.Regexp(t, `Refund +rfd_\w+ of 2026-11-22T12:00:00Z: \$2.00 succeeded 0xb\n`, text)
}

func TestStuckChargesAreShownAndResolved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := p.merchant(t)
	txn := p.stuck(t, m)
	require.Equal(t, "pending", p.ok(t, "charges", "show", txn)[0]["status"])
	_, err := p.do(t, "charges", "resolve", txn, "--outcome", "succeeded", "--reason", "seen")
	require.ErrorContains(t, err, "processor id: required")
	done := p.ok(t, "charges", "resolve", txn, "--outcome", "succeeded", "--processor-id", "pay_7", "--reason", "shown as captured")[0]
	require.Equal(t, "succeeded", done["status"])
	require.Equal(t, "pay_7", done["processorPaymentId"])
	audit := done["audit"].([]any)
	require.Len(t, audit, 1)
	require.Equal(t, "shown as captured", audit[0].(map[string]any)["reason"])
	_, err = p.do(t, "charges", "resolve", txn, "--outcome", "failed", "--reason", "no")
	require.ErrorContains(t, err, "the charge is decided: succeeded")
	out, err := p.do(t, "charges", "show", txn)
	require.NoError(t, err)
	require.Contains(t, out, "shown as captured")
	var report, errs bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"ledger", "check", "--store", p.store}, output{&report, &errs}))
	require.Contains(t, report.String(), "ledger is sound")
}

func TestContradictingOutcomesAndTheAuditLogAreListed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	txn := p.stuck(t, p.merchant(t))
	require.Empty(t, p.ok(t, "charges", "conflicts"))
	p.ok(t, "charges", "resolve", txn, "--outcome", "succeeded", "--processor-id", "pay_7", "--reason", "shown as captured")

	store, err := sqlite.Open(t.Context(), p.store)
	require.NoError(t, err)
	l, err := ledger.New(ledger.Config{Store: store, Clock: stopped(time.Now()).Now})
	require.NoError(t, err)
	charge, err := l.Charge(t.Context(), txn)
	require.NoError(t, err)
	for _, hash := range []string{"0xa", "0xb"} {
		_, err = l.Settle(t.Context(), charge, ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Succeeded, TxHash: hash}})
		require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	}
	l.Close()
	require.NoError(t, store.Close())

	list := p.ok(t, "charges", "conflicts")
	require.Len(t, list, 2)
	require.Equal(t, []any{txn, "succeeded", "chainrail", "succeeded", "0xa"},
		[]any{list[0]["transactionId"], list[0]["status"], list[0]["reportedRail"], list[0]["reported"], list[0]["reportedTxHash"]})
	out, err := p.do(t, "charges", "conflicts")
	require.NoError(t, err)
	require.Contains(t, out, txn)

	log := p.ok(t, "audit", "list", "--limit", "1")
	require.Len(t, log, 1)
	require.Equal(t, []any{"charge.resolve", txn, "shown as captured"}, []any{log[0]["action"], log[0]["subject"], log[0]["reason"]})
	out, err = p.do(t, "audit", "list")
	require.NoError(t, err)
	require.Contains(t, out, "charge.resolve")
	for actor, entries := range map[string]bool{"operator": true, actor(): true, "merchant": false, "operator:nobody": false} {
		out, err = p.do(t, "audit", "list", "--actor", actor)
		require.NoError(t, err)
		require.Equal(t, entries, strings.Contains(out, "operator"), actor)
	}
	_, err = p.do(t, "audit", "list", "--limit", "0")
	require.Equal(t, exitUsage, exitCode(err))
}

// stuck makes a charge that a rail left pending.
func (p place) stuck(t *testing.T, merchantID string) string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), p.store)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	now := time.Now().Add(-time.Minute).Truncate(time.Second)
	l, err := ledger.New(ledger.Config{Store: store, Clock: stopped(now).Now})
	require.NoError(t, err)
	defer l.Close()
	terms := ledger.Terms{MaxPerTx: 1e6, MaxMonthly: 1e6, Payees: []string{merchantID}, Rails: []rail.Name{rail.Card}, ExpiresAt: now.Add(time.Hour)}
	s := ledger.Session{Hash: "h", MerchantID: merchantID, Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, l.CreateSession(t.Context(), s))
	begun, err := l.BeginInstrument(t.Context(), rail.Connection{Reference: "h", Session: "h"}, rail.Card)
	require.NoError(t, err)
	_, err = l.ConnectedInstrument(t.Context(), begun.Reference, rail.Instrument{Rail: rail.Card})
	require.NoError(t, err)
	m, err := l.CompleteSession(t.Context(), ledger.Completion{
		SessionHash: "h", MandateID: id.New(id.Mandate, now), Terms: terms, SealedToken: []byte{1}, Instruments: []string{begun.Reference},
	})
	require.NoError(t, err)
	r, err := l.Reserve(t.Context(), ledger.Reserve{
		ChargeID: id.New(id.Charge, now), MandateID: m.ID, TokenValid: true, Payee: ledger.Merchant{ID: merchantID, Active: true}, Amount: 5e5,
		Currency: "usd", Rails: []rail.Name{rail.Card}, IdempotencyKey: "k", Fingerprint: "f", Lease: 20 * time.Second,
	})
	require.NoError(t, err)
	return r.Charge.ID
}

// stopped is a clock that stands still.
type stopped time.Time

func (s stopped) Now() time.Time { return time.Time(s) }
