package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/internal/pgtest"
)

// operated is a service that `serve` runs from a configuration file, with a chain.
type operated struct {
	chain *devchain.Chain
	file  string
	dir   string
	url   string // where it listens
	shop  newMerchant
	stop  func()

	mu   sync.Mutex
	logs strings.Builder
}

// operate writes a configuration for a development chain, with more lines, and
// starts the service.
func operate(t *testing.T, mode, store, more string) *operated {
	t.Helper()
	s := &operated{chain: devchaintest.Start(t, devchain.Config{MaxLead: time.Hour}), dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "pay.toml")
	key := filepath.Join(s.dir, "relayer")
	require.NoError(t, os.WriteFile(key, []byte(devchain.Relayer().PrivateKey()+"\n"), 0o600))
	if store == "" {
		store = filepath.Join(s.dir, "pay.db")
	}
	require.NoError(t, os.WriteFile(s.file, fmt.Appendf(nil, `
mode = %q
base_url = "https://pay.example"
listen = "127.0.0.1:0"
store = %q
key_file = %q
[chain]
rpc_url = %q
chain_id = %d
router = %q
token = %q
token_name = %q
relayer_key_file = %q
poll = "20ms"
wait = "1m"
%s`, mode, store, filepath.Join(s.dir, "kek"), s.chain.RPCURL(), devchain.ChainID, devchain.Router().Hex(), devchain.USDC().Hex(),
		devchain.USDCName, key, more), 0o600))
	s.start(t)
	return s
}

// start starts the service, which ends with stop or with the test.
func (s *operated) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--config", s.file}, output{io.Discard, out})
		_ = out.Close()
	}()
	lines, began := bufio.NewScanner(in), make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			s.mu.Lock()
			s.logs.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				began <- line.Address
			}
		}
		close(began)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-read
		require.NoError(t, <-ended)
	})
	address, ok := <-began
	if !ok {
		require.NoError(t, <-ended)
	}
	s.url = "http://" + address
	t.Cleanup(func() { s.stop() })
}

// hire makes a merchant's account, with a wallet.
func (s *operated) hire(t *testing.T) {
	t.Helper()
	text, err := command(t, "merchants", "create", "--config", s.file, "--name", "Shop", "--pay-to", devchain.Payee(0).Address.Hex())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(text), &s.shop))
	require.Equal(t, devchain.Payee(0).Address.Hex(), s.shop.PayTo)
}

// client is the merchant's.
func (s *operated) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: s.url, MerchantID: s.shop.ID, APIKey: s.shop.APIKey})
	require.NoError(t, err)
	return c
}

// setUp has a person set a mandate up with a wallet, over the pages alone.
func (s *operated) setUp(t *testing.T, owner devchain.Wallet) (mandate string) {
	t.Helper()
	c := s.client(t)
	session, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	page := s.url + strings.TrimPrefix(session.SetupURL, "https://pay.example")
	form := url.Values{
		"maxPerTx": {"5.00"}, "maxMonthly": {"50.00"}, "action": {"confirm"}, "expires": {time.Now().AddDate(0, 1, 0).Format(time.DateOnly)},
		"owner": {owner.Address.Hex()}, "method": {"own_wallet"},
	}
	var proposal struct {
		ID       string
		Messages []json.RawMessage
	}
	text := submit(t, page+"/wallet", form, http.StatusOK)
	require.NoError(t, json.Unmarshal([]byte(text), &proposal))
	require.Len(t, proposal.Messages, 2)
	form.Set("proposal", proposal.ID)
	for _, message := range proposal.Messages {
		form.Add("signature", devchaintest.SignTyped(t, owner, message))
	}
	submit(t, page, form, http.StatusSeeOther, http.StatusOK)
	done, err := c.Session(t.Context(), session.SessionToken)
	require.NoError(t, err)
	require.Equal(t, client.SessionCompleted, done.Status)
	return done.Mandate
}

// submit posts a form as the page does, and returns the answer's text.
func submit(t *testing.T, to string, form url.Values, want ...int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Host = "pay.example" // base_url
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, want, resp.StatusCode, string(text))
	return string(text)
}

// usdc is what an account has, in millionths.
func (s *operated) usdc(t *testing.T, of common.Address) int64 {
	t.Helper()
	token, at := contracts.NewTestUSDC(), devchain.USDC()
	answer, err := s.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &at, Data: token.PackBalanceOf(of)}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(answer)
	require.NoError(t, err)
	return balance.Int64()
}

// TestServicesShareAChainOnPostgres: two services on one database and one relayer's key
// charge one mandate at once, and the one that is left goes on, under a new
// key-encryption key.
func TestServicesShareAChainOnPostgres(t *testing.T) {
	t.Parallel()
	s := operate(t, "sandbox", pgtest.Schema(t), "")
	text, err := command(t, "migrate", "--config", s.file)
	require.NoError(t, err)
	require.Contains(t, text, "up to date")
	s.hire(t)
	other := &operated{chain: s.chain, file: s.file, dir: s.dir, shop: s.shop}
	other.start(t)
	m := s.setUp(t, devchain.Wallets()[0])
	const each = 4
	before := s.usdc(t, devchain.Payee(0).Address)
	var callers sync.WaitGroup
	for i := range 2 * each {
		c := []*operated{s, other}[i%2].client(t)
		callers.Go(func() {
			ch, err := c.Charge(t.Context(), client.ChargeParams{
				Mandate: m, AmountCents: 100, Currency: client.USDC, Description: "report", IdempotencyKey: fmt.Sprint("key", i),
			})
			if err != nil || ch.Status != client.Completed || ch.RailUsed != client.ChainUsed {
				t.Errorf("charge %d: %+v, %v", i, ch, err)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 2*each*1_000_000, s.usdc(t, devchain.Payee(0).Address)-before)
	other.stop()
	for _, more := range [][]string{nil, {"--forget"}} {
		_, err := command(t, append([]string{"keys", "rewrap", "--config", s.file}, more...)...)
		require.NoError(t, err)
	}
	s.charge(t, m, "alone")
	require.NoFileExists(t, filepath.Join(s.dir, "pay-chain.db"))
	require.NotContains(t, s.logged(), `"level":"ERROR"`)
	require.NotContains(t, other.logged(), `"level":"ERROR"`)
}

// logged is what the service has logged.
func (s *operated) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs.String()
}

// TestKeyEncryptionKeyChangesBesideTheChainRail: the session keys are wrapped too, and
// charge after the old key was forgotten, beside the running service and after.
func TestKeyEncryptionKeyChangesBesideTheChainRail(t *testing.T) {
	t.Parallel()
	s := operate(t, "sandbox", "", "")
	s.hire(t)
	m := s.setUp(t, devchain.Wallets()[0])
	s.charge(t, m, "before")
	text, err := command(t, "keys", "rewrap", "--config", s.file)
	require.NoError(t, err)
	with := secretsIn(t, text)
	s.charge(t, m, "both keys")
	text, err = command(t, "keys", "rewrap", "--forget", "--config", s.file)
	require.NoError(t, err)
	require.Zero(t, secretsIn(t, text), "nothing was left")
	s.charge(t, m, "forgotten")
	s.stop()
	require.NoError(t, os.Rename(filepath.Join(s.dir, "pay-chain.db"), filepath.Join(s.dir, "aside.db")))
	text, err = command(t, "keys", "rewrap", "--config", s.file)
	require.NoError(t, err)
	require.Equal(t, with-1, secretsIn(t, text), "the session key of the one grant")
	require.NoError(t, os.Rename(filepath.Join(s.dir, "aside.db"), filepath.Join(s.dir, "pay-chain.db")))
	text, err = command(t, "keys", "rewrap", "--forget", "--config", s.file)
	require.NoError(t, err)
	require.Equal(t, 1, secretsIn(t, text))
	s.start(t)
	s.charge(t, m, "after")
}

// secretsIn is how many secrets were wrapped, by what was printed.
func secretsIn(t *testing.T, text string) (n int) {
	t.Helper()
	_, err := fmt.Sscanf(text, "%d secrets", &n)
	require.NoError(t, err, text)
	return n
}

// blocks makes blocks until the test or the returned function ends them, as a
// network does.
func (s *operated) blocks(t *testing.T) (end func()) {
	t.Helper()
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-tick.C:
				_, _ = s.chain.Commit() // a chain that is stuck fails the test elsewhere
			}
		}
	}()
	end = sync.OnceFunc(func() { close(stopped); <-done })
	t.Cleanup(end)
	return end
}

// charge charges five dollars and requires that the chain moved them.
func (s *operated) charge(t *testing.T, mandate, key string) {
	t.Helper()
	before := s.usdc(t, devchain.Payee(0).Address)
	ch, err := s.client(t).Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: 500, Currency: client.USDC, Description: "report", IdempotencyKey: key})
	require.NoError(t, err)
	require.Equal(t, client.Completed, ch.Status, ch.FailureReason)
	require.Equal(t, client.ChainUsed, ch.RailUsed)
	receipt, err := s.chain.Client().TransactionReceipt(t.Context(), common.HexToHash(ch.TxHash))
	require.NoError(t, err)
	require.EqualValues(t, 1, receipt.Status)
	require.EqualValues(t, 5_000_000, s.usdc(t, devchain.Payee(0).Address)-before)
}

// TestServeChargesByChain: from a configuration file alone, a person sets a mandate
// up with a wallet, and it is charged by chain, over a restart, and revoked from
// the wallet; in the sandbox, and live.
func TestServeChargesByChain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sandbox", "live"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := operate(t, mode, "", "")
			end := s.blocks(t)
			s.hire(t)
			m := s.setUp(t, devchain.Wallets()[0])
			s.charge(t, m, "first")
			s.stop()
			s.start(t)
			s.charge(t, m, "second")
			_, _, err := s.chain.RevokeNewest(t.Context())
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				b, err := s.client(t).Balance(t.Context(), m)
				return err == nil && b.Status == client.MandateRevoked
			}, time.Minute, 20*time.Millisecond)
			end()
			require.NotContains(t, s.logged(), devchain.Relayer().PrivateKey()[2:])
		})
	}
}
