package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandsRefuseTheStoreOfAnotherService: a command with the configuration of a live
// service, or of another base URL, changes nothing in a sandbox's store.
func TestCommandsRefuseTheStoreOfAnotherService(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := p.merchant(t)
	p.serveOnce(t)
	dir := filepath.Dir(p.config)
	for want, change := range map[string]map[string]string{
		"the store is of a sandbox service, and this one is live": {"base_url": `"http://127.0.0.1:4020"`},
		"the store is of http://127.0.0.1:4020":                   {"mode": `"sandbox"`, "base_url": `"https://other.example"`},
	} {
		values := basis(dir, "http://127.0.0.1:1")
		for key, value := range change {
			values[key] = value
		}
		other := place{config: written(t, t.TempDir(), values)}
		for _, args := range [][]string{
			{"merchants", "create", "--name", "Live"},
			{"merchants", "list"},
			{"merchants", "suspend", m, "--reason", "no"},
			{"api-keys", "create", m},
			{"keys", "list"},
			{"keys", "rotate", "--force"},
			{"keys", "rewrap"},
			{"charges", "list", "--pending"},
			{"audit", "list"},
			{"ledger", "check"},
			{"migrate"},
		} {
			out, err := other.do(t, args...)
			require.ErrorContains(t, err, want, args)
			require.Empty(t, out, args)
		}
	}
	merchants := p.ok(t, "merchants", "list")
	require.Len(t, merchants, 1)
	require.Equal(t, true, merchants[0]["active"])
	require.Len(t, p.ok(t, "api-keys", "list", m), 1)
	_, err := command(t, "ledger", "check", "--store", p.store)
	require.NoError(t, err, "without a configuration there is nothing to compare")
}

// TestReadingClaimsNoStore: a command that only reads leaves a new store to the first
// service or command that writes, whatever its own configuration says.
func TestReadingClaimsNoStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store, err := openStore(t.Context(), p.store, true)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	values := basis(filepath.Dir(p.config), "http://127.0.0.1:1")
	values["base_url"] = `"https://typo.example"`
	other := place{config: written(t, t.TempDir(), values)}
	for _, args := range [][]string{{"merchants", "list"}, {"charges", "list", "--pending"}, {"audit", "list"}, {"ledger", "check"}} {
		_, err := other.do(t, args...)
		require.NoError(t, err, args)
	}
	p.merchant(t)
	_, err = other.do(t, "merchants", "list")
	require.ErrorContains(t, err, "the store is of a sandbox service")
}

// serveOnce starts and stops the service, so that the store has its keys.
func (p place) serveOnce(t *testing.T) {
	t.Helper()
	require.NoError(t, p.open(t))
}

// open puts the service together and closes it.
func (p place) open(t *testing.T) error {
	t.Helper()
	cfg, err := configFile(p.config).read()
	require.NoError(t, err)
	srv, err := newService(t.Context(), cfg, slog.New(slog.DiscardHandler), extras{})
	if err != nil {
		return err
	}
	return srv.Close()
}

// TestMissingKeyFileIsNotReplaced: a new key cannot open what the lost one sealed.
func TestMissingKeyFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.merchant(t)
	p.serveOnce(t) // creates the file, because nothing is sealed
	file := filepath.Join(filepath.Dir(p.config), "kek")
	require.NoError(t, os.Rename(file, file+".away"))
	err := p.open(t)
	require.ErrorContains(t, err, fmt.Sprintf("key_file: %s does not exist", file))
	require.NoFileExists(t, file)

	fresh := newPlace(t)
	fresh.serveOnce(t)
	wrong, err := os.ReadFile(filepath.Join(filepath.Dir(fresh.config), "kek"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, wrong, 0o600))
	require.ErrorContains(t, p.open(t), fmt.Sprintf("key_file: %s does not hold the key that sealed", file))

	require.NoError(t, os.Rename(file+".away", file))
	p.serveOnce(t)
}

// TestChangesOfOperatorsAreInTheAuditLog: one row for each change that was made, and none
// for one that was refused.
func TestChangesOfOperatorsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	m := p.merchant(t, "--pay-to", wallet)
	_, err := p.do(t, "merchants", "create", "--name", "B", "--pay-to", wallet)
	require.Error(t, err)
	p.serveOnce(t)
	p.ok(t, "merchants", "set-limit", m, "25.00")
	p.ok(t, "merchants", "set-limit", m, "none")
	key := p.ok(t, "api-keys", "create", m, "--label", "billing")[0]["id"].(string)
	p.ok(t, "api-keys", "revoke", key)
	_, err = p.do(t, "api-keys", "revoke", key)
	require.ErrorContains(t, err, "revoked already")
	_, err = p.do(t, "keys", "rotate")
	require.Error(t, err, "too young")
	out, err := p.do(t, "keys", "list", "--json")
	require.NoError(t, err)
	var signing []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &signing))
	current, next := signing[0]["id"].(string), signing[1]["id"].(string)
	_, err = p.do(t, "keys", "rotate", "--force")
	require.NoError(t, err)
	_, err = command(t, "keys", "revoke", "--config", p.config, "--", current)
	require.NoError(t, err)
	_, err = p.do(t, "keys", "rewrap")
	require.NoError(t, err)
	_, err = p.do(t, "keys", "rewrap", "--forget")
	require.NoError(t, err)

	var rows [][]string
	log := p.ok(t, "audit", "list")
	for i := len(log) - 1; i >= 0; i-- {
		detail, _ := log[i]["detail"].(string)
		rows = append(rows, []string{log[i]["action"].(string), log[i]["subject"].(string), detail})
		require.Contains(t, log[i]["actor"], "operator")
	}
	require.Len(t, rows, 9)
	require.Equal(t, [][]string{
		{"merchant.create", m, "Acme"},
		{"merchant.set-limit", m, "25.00"},
		{"merchant.set-limit", m, "none"},
		{"api-key.create", m, key + " read,charge,refund,admin billing"},
		{"api-key.revoke", m, key},
		{"key.rotate", next, "forced"},
		{"key.revoke", current, ""},
	}, rows[:7])
	require.Equal(t, []string{"key.rewrap", "key-encryption-key"}, rows[7][:2])
	require.Regexp(t, `^[1-9]\d* secrets$`, rows[7][2])
	require.Equal(t, []string{"key.rewrap", "key-encryption-key", "0 secrets, old keys forgotten"}, rows[8])
}

// TestPendingChargesAreListed: an operator finds the charge to resolve.
func TestPendingChargesAreListed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	m := p.merchant(t)
	require.Empty(t, p.ok(t, "charges", "list", "--pending"))
	txn := p.stuck(t, m)
	pending := p.ok(t, "charges", "list", "--pending")
	require.Len(t, pending, 1)
	require.Equal(t, []any{txn, "pending", m}, []any{pending[0]["transactionId"], pending[0]["status"], pending[0]["merchantId"]})
	out, err := p.do(t, "charges", "list", "--pending")
	require.NoError(t, err)
	require.Contains(t, out, txn)
	p.ok(t, "charges", "resolve", txn, "--outcome", "failed", "--reason", "unknown to the processor")
	require.Empty(t, p.ok(t, "charges", "list", "--pending"))
	of := p.ok(t, "charges", "list", "--merchant", m)
	require.Len(t, of, 1)
	require.Equal(t, "failed", of[0]["status"])

	_, err = p.do(t, "charges", "list", "--pending", "--limit", "0")
	require.Equal(t, exitUsage, exitCode(err))
	_, err = p.do(t, "charges", "list", "--merchant", "mer_none")
	require.EqualError(t, err, "merchant mer_none: not found")
	_, err = p.do(t, "charges", "list")
	require.ErrorContains(t, err, "--pending")
}
