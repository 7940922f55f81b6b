package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// basis is a configuration without a fault; a test replaces or adds lines.
func basis(dir, rpc string) map[string]string {
	return map[string]string{
		"mode": `"live"`, "base_url": `"https://pay.example"`, "listen": `"127.0.0.1:0"`, "log_level": `"info"`,
		"store": fmt.Sprintf("%q", filepath.Join(dir, "pay.db")), "key_file": fmt.Sprintf("%q", filepath.Join(dir, "kek")),
		"chain.rpc_url": fmt.Sprintf("%q", rpc), "chain.chain_id": fmt.Sprint(devchain.ChainID),
		"chain.router": fmt.Sprintf("%q", devchain.Router().Hex()), "chain.token": fmt.Sprintf("%q", devchain.USDC().Hex()),
		"chain.token_name": `"USDC"`, "chain.token_version": `"2"`,
		"chain.relayer_key_file": fmt.Sprintf("%q", filepath.Join(dir, "relayer")),
	}
}

// written writes keys and values; a value of "-" leaves its key out.
func written(t *testing.T, dir string, values map[string]string) string {
	t.Helper()
	var text strings.Builder
	for key, value := range values {
		if value != "-" {
			fmt.Fprintf(&text, "%s = %s\n", key, value)
		}
	}
	file := filepath.Join(dir, "pay.toml")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

// refusedConfigurations are changes of a key to a value that serve refuses, and the problem it names.
var refusedConfigurations = []struct{ key, value, problem string }{
	{"mode", "-", "mode is required"},
	{"mode", `"production"`, `mode: must be "sandbox" or "live"`},
	{"base_url", `" "`, "base_url is required"},
	{"store", "-", "store is required"},
	{"key_file", "-", "key_file is required"},
	{"log_level", `"loud"`, "log_level: must be debug"},
	{"requests_per_second", "-1", "requests_per_second: must not be negative"},
	{"tab_cents", "99", "tab_cents: must be 100 to 10000"},
	{"max_tab_advance_cents", "-1", "max_tab_advance_cents: must not be negative"},
	{"metrics.listen", `""`, "metrics.listen is required"},
	{"metrics.path", `"/"`, "unknown key metrics.path"},
	{"mail.smtp", `"smtp.example.com"`, "mail.smtp: must be a host name and a port"},
	{"mail.username", `"pay"`, "mail.username and mail.password_file go together"},
	{"mail.port", "587", "unknown key mail.port"},
	{"tls.cert", `"cert.pem"`, "tls.cert and tls.key go together"},
	{"chain.colour", `"red"`, "unknown key chain.colour"},
	{"stripe.key", `"sk_live_hidden"`, "unknown key stripe.key"},
	{"sandbox_card.processor_url", `"http://127.0.0.1:1"`, "sandbox_card: there is no simulated card processor in live mode"},

	{"chain.rpc_url", "-", "chain.rpc_url is required"},
	{"chain.rpc_url", `"wss://hidden.example"`, "chain.rpc_url: must begin with http"},
	{"chain.rpc_url", `"https:///hidden"`, "chain.rpc_url: must begin with http"},
	{"chain.rpc_url", `"http://hidden.example"`, "chain.rpc_url: must be https in live mode"},
	{"chain.chain_id", "-", "chain.chain_id is required"},
	{"chain.chain_id", `"8453"`, "chain_id"},
	{"chain.chain_id", "9223372036854775808", "line"}, // so it fits an int64
	{"chain.chain_id", "-1", "chain_id"},
	{"chain.router", "-", "chain.router: "},
	{"chain.router", `"0x12"`, "chain.router: "},
	{"chain.router", `"0x0000000000000000000000000000000000000000"`, "chain.router: the zero address"},
	{"chain.token", `"0x036cbD53842c5426634e7929541eC2318f3dCF7e"`, "chain.token: "},
	{"chain.token_name", `"USD Coin"`, "chain.token: the token at 0x036CbD53842c5426634e7929541eC2318f3dCF7e takes signatures for another name"},
	{"chain.token_version", `"1"`, "chain.token: "},
	{"chain.relayer_key_file", "-", "chain.relayer_key_file is required"},
	{"chain.confirmations", "1", "chain.confirmations: must be at least 2 in live mode"},
	{"chain.confirmations", "1001", "chain.confirmations: must be at most 1000"},
	{"chain.confirmations", "-1", "confirmations"},
	{"chain.wait", "10", `chain.wait: must be a text such as "10s", from 100ms to 1m0s`},
	{"chain.wait", `"2m"`, "chain.wait: "},
	{"chain.wait", `"soon"`, "line"},
	{"chain.poll", `"1ms"`, "chain.poll: "},
	{"chain.lifetime", `"-1m"`, "chain.lifetime: "},
	{"chain.bump_after", `"1ms"`, "chain.bump_after: "},
	{"chain.max_fee_gwei", "-1", "chain.max_fee_gwei: "},
	{"chain.max_fee_gwei", "inf", "chain.max_fee_gwei: "},
	{"chain.max_fee_gwei", "nan", "chain.max_fee_gwei: "},
	{"chain.low_balance_ether", "1e300", "chain.low_balance_ether: "},
	{"chain.finalized_above_cents", "-1", "chain.finalized_above_cents: "},
	{"chain.payer_budget_ether", "-1", "chain.payer_budget_ether: "},
	{"chain.relayer_budget_ether", "nan", "chain.relayer_budget_ether: "},
	{"chain.wallet_payer_gas", "1", "chain.wallet_payer_gas: "},
	{"chain.permit2", `"0x1"`, "chain.permit2: "},
	{"chain.upto_proxy", `"none"`, "chain.upto_proxy: "},
	{"chain.factories", `["0x036CbD53842c5426634e7929541eC2318f3dCF7e", "0x1"]`, "chain.factories[1]: "},

	{"chain.chain_id", "8453", "chain.chain_id: the chain's id is 84532, not 8453"},
	{"chain.router", `"0x036CbD53842c5426634e7929541eC2318f3dCF7e"`, "chain.router: there is no MandateRouter"},
	{"chain.token", fmt.Sprintf("%q", devchain.Router().Hex()), "chain.token: there is no token"},
	{"chain.rpc_url", `"http://hidden:hidden@127.0.0.1:1/hidden"`, "chain.rpc_url: the node does not answer"},
}

// TestServeRefusesAConfiguration is the table of what cannot be, by the key that the
// error names. Nothing is made by then: neither store nor key file.
func TestServeRefusesAConfiguration(t *testing.T) {
	t.Parallel()
	c := devchaintest.Start(t, devchain.Config{})
	for i, test := range refusedConfigurations {
		t.Run(fmt.Sprint(i, " ", test.key), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "relayer"), []byte(devchain.Relayer().PrivateKey()), 0o600))
			values := basis(dir, c.RPCURL())
			values[test.key] = test.value
			_, err := command(t, "serve", "--config", written(t, dir, values))
			require.ErrorContains(t, err, test.problem)
			require.ErrorContains(t, err, "pay.toml: ")
			require.NotContains(t, err.Error(), "hidden")
			require.Equal(t, []string{"pay.toml", "relayer"}, names(t, dir))
		})
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestServeRefusesRelayerKeys: the file must be a key, of an operator, and private.
func TestServeRefusesRelayerKeys(t *testing.T) {
	t.Parallel()
	c := devchaintest.Start(t, devchain.Config{})
	key := devchain.Relayer().PrivateKey()
	for name, test := range map[string]struct {
		text    string
		mode    os.FileMode
		problem string
	}{
		"others read it":     {key, 0o604, "chmod 600"},
		"its group writes":   {key, 0o620, "chmod 600"},
		"no key":             {"secret words", 0o600, "64 hexadecimal digits"},
		"cut":                {key[:40], 0o600, "64 hexadecimal digits"},
		"not an operator's":  {devchain.Wallets()[0].PrivateKey(), 0o600, devchain.Wallets()[0].Address.Hex() + " is no operator"},
		"empty":              {"", 0o600, "64 hexadecimal digits"},
		"there is none":      {"", 0, "no such file"},
		"two keys in a file": {key + "\n" + key, 0o600, "64 hexadecimal digits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "relayer")
			if test.mode != 0 {
				require.NoError(t, os.WriteFile(file, []byte(test.text), 0o600))
				require.NoError(t, os.Chmod(file, test.mode))
			}
			_, err := command(t, "serve", "--config", written(t, dir, basis(dir, c.RPCURL())))
			require.ErrorContains(t, err, "chain.relayer_key_file: ")
			require.ErrorContains(t, err, test.problem)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), key[2:])
		})
	}
}

func TestServeRefusesAKeyFileThatOthersRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := basis(dir, "http://127.0.0.1:1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kek"), nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Join(dir, "kek"), 0o644))
	_, err := command(t, "serve", "--config", written(t, dir, values))
	require.ErrorContains(t, err, "key_file: ")
	require.ErrorContains(t, err, "chmod 600")
}

// TestLiveNeedsARail: without a section of one there is none for real money.
func TestLiveNeedsARail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := basis(dir, "")
	for key := range values {
		if strings.HasPrefix(key, "chain.") {
			values[key] = "-"
		}
	}
	_, err := command(t, "serve", "--config", written(t, dir, values))
	require.ErrorContains(t, err, "mode: live needs a rail for real money: a [stripe] section, a [chain] section, or both")
}

// TestSandboxMovesNoRealMoney: no main network, and a node by http.
func TestSandboxMovesNoRealMoney(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := basis(dir, "http://node.example")
	values["mode"], values["chain.confirmations"] = `"sandbox"`, "1"
	_, err := configFile(written(t, dir, values)).read()
	require.NoError(t, err)
	for _, id := range []string{"8453", "1"} {
		values["chain.chain_id"] = id
		_, err = configFile(written(t, dir, values)).read()
		require.ErrorContains(t, err, "chain.chain_id: "+id+" is a main network")
	}
}

// TestDefaultsOfTheChain: what is left out, by mode.
func TestDefaultsOfTheChain(t *testing.T) {
	t.Parallel()
	for mode, confirmations := range map[string]uint64{"sandbox": 1, "live": 3} {
		dir := t.TempDir()
		values := basis(dir, "https://node.example")
		values["mode"], values["chain.token"], values["chain.token_name"] = fmt.Sprintf("%q", mode), "-", "-"
		values["chain.max_fee_gwei"], values["chain.factories"] = "0.25", fmt.Sprintf("[%q]", devchain.USDC().Hex())
		c, err := configFile(written(t, dir, values)).read()
		require.NoError(t, err)
		parsed, err := c.Chain.parse(c.live())
		require.NoError(t, err)
		require.Equal(t, confirmations, parsed.Confirmations)
		require.Equal(t, "USDC 2", parsed.Token.Name+" "+parsed.Token.Version, "as Base Sepolia has it")
		require.Equal(t, devchain.USDC(), parsed.Token.Address)
		require.Equal(t, "250000000", parsed.MaxFeeWei.String())
		require.Equal(t, "10000000000000000", parsed.LowBalanceWei.String())
		require.Len(t, parsed.Authorizations.Factories, 1)
		require.Equal(t, chain.Upto{Permit2: evm.Permit2(), Proxy: evm.UptoProxy()}, parsed.Upto)
		require.Equal(t, "1000000000000000000", parsed.Authorizations.RelayerWei.String())
	}
}

// TestServeRefusesStripeKeys: one key, of the mode, in a private file; and no error shows it.
func TestServeRefusesStripeKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode, key, problem string
		perm               os.FileMode
	}{
		"test key in live mode":   {"live", "sk_test_hidden", "stripe.key_file: live mode needs a live key", 0o600},
		"live key in the sandbox": {"sandbox", "rk_live_hidden", "stripe.key_file: the sandbox needs a test key", 0o600},
		"publishable key":         {"live", "pk_live_hidden", "stripe: Key: must be a secret key", 0o600},
		"two keys":                {"live", "sk_live_hidden\nsk_live_other", "stripe.key_file: needs one API key", 0o600},
		"empty":                   {"live", "", "stripe.key_file: needs one API key", 0o600},
		"others read it":          {"live", "sk_live_hidden", "chmod 600", 0o604},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "stripe-key")
			require.NoError(t, os.WriteFile(file, []byte(test.key), test.perm))
			require.NoError(t, os.Chmod(file, test.perm))
			path := written(t, dir, map[string]string{
				"mode": fmt.Sprintf("%q", test.mode), "base_url": `"https://pay.example"`, "listen": `"127.0.0.1:0"`,
				"store": fmt.Sprintf("%q", filepath.Join(dir, "pay.db")), "key_file": fmt.Sprintf("%q", filepath.Join(dir, "kek")),
				"stripe.key_file": fmt.Sprintf("%q", file),
			})
			_, err := command(t, "serve", "--config", path)
			require.ErrorContains(t, err, test.problem)
			require.ErrorContains(t, err, "pay.toml: ")
			require.NotContains(t, err.Error(), "hidden")
			require.Equal(t, []string{"pay.toml", "stripe-key"}, names(t, dir))
		})
	}
}
