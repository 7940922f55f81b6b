package instances_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/test/internal/process"
)

const base = "http://127.0.0.1:4020"

// onChain is a fleet with a chain, whose instances share one relayer.
func onChain(t *testing.T, n int) (*fleet, *devchain.Chain) {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	f, chain := &fleet{cluster: pgtest.Start(t)}, devchaintest.Start(t, devchain.Config{MaxLead: 24 * time.Hour})
	binary, err := programtest.Build(ctx, dir)
	require.NoError(t, err)
	key, config := filepath.Join(dir, "relayer"), ""
	require.NoError(t, os.WriteFile(key, []byte(devchain.Relayer().PrivateKey()), 0o600))
	for i := range n {
		addr, err := process.FreeAddr(ctx)
		require.NoError(t, err)
		config = filepath.Join(dir, fmt.Sprintf("%d.toml", i))
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
mode = "sandbox"
base_url = %q
listen = %q
store = %q
key_file = %q
requests_per_second = 10000
[chain]
rpc_url = %q
chain_id = %d
router = %q
relayer_key_file = %q
poll = "50ms"
`, base, addr, f.cluster.URL(), filepath.Join(dir, "kek"), chain.RPCURL(), devchain.ChainID, devchain.Router().Hex(), key), 0o600))
		p, err := process.Command{
			Binary: binary, Log: filepath.Join(dir, fmt.Sprintf("%d.log", i)), Args: []string{"serve", "--config", config},
		}.Start(ctx)
		require.NoError(t, err)
		one := &instance{url: "http://" + addr, process: p}
		f.instances = append(f.instances, one)
		t.Cleanup(func() { _ = one.process.Kill() })
		require.Eventually(t, one.ready, time.Minute, 20*time.Millisecond)
	}
	text, err := exec.CommandContext(ctx, binary, "merchants", "create", "--config", config, "--name", "Fleet",
		"--pay-to", devchain.Payee(0).Address.Hex()).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &f.merchant))
	return f, chain
}

// wallet sets a mandate up with a wallet, on the page of the first instance.
func (f *fleet) wallet(t *testing.T, owner devchain.Wallet) string {
	t.Helper()
	c := f.client(t, 0, f.merchant)
	s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 100_000})
	require.NoError(t, err)
	page := f.instances[0].url + strings.TrimPrefix(s.SetupURL, base)
	form := url.Values{
		"maxPerTx": {"5.00"}, "maxMonthly": {"1000.00"}, "action": {"confirm"}, "expires": {time.Now().AddDate(0, 1, 0).Format(time.DateOnly)},
		"owner": {owner.Address.Hex()}, "method": {"own_wallet"},
	}
	var proposal struct {
		ID       string
		Messages []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(submit(t, page+"/wallet", form), &proposal))
	form.Set("proposal", proposal.ID)
	for _, m := range proposal.Messages {
		form.Add("signature", devchaintest.SignTyped(t, owner, m))
	}
	submit(t, page, form)
	done, err := c.Session(t.Context(), s.SessionToken)
	require.NoError(t, err)
	require.Equal(t, client.SessionCompleted, done.Status)
	return done.Mandate
}

// submit posts a form as the page does.
func submit(t *testing.T, to string, form url.Values) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 400, string(text))
	return text
}

// TestAnInstanceIsKilledOnASharedRelayer: two instances charge by chain at once, with
// one relayer's key, and one is killed half way. The other sees all charges through,
// and the chain has moved each once.
func TestAnInstanceIsKilledOnASharedRelayer(t *testing.T) {
	t.Parallel()
	f, chain := onChain(t, 2)
	m := f.wallet(t, devchain.Wallets()[0])
	clients := []*client.Client{f.client(t, 0, f.merchant), f.client(t, 1, f.merchant)}
	const charges = 40
	var callers sync.WaitGroup
	var answered atomic.Int64
	half := make(chan struct{})
	for i := range charges {
		callers.Go(func() {
			p := client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USDC, Description: "race", IdempotencyKey: fmt.Sprint("k", i)}
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for at := i % 2; t.Context().Err() == nil; at = 0 { // then at the instance that lives
				c, err := clients[at].Charge(t.Context(), p)
				if err == nil && c.Status == client.Failed {
					t.Errorf("charge %d: %s", i, c.FailureReason)
				}
				if err == nil && c.Status != client.Pending {
					break
				}
				<-tick.C
			}
			if answered.Add(1) == charges/4 {
				close(half)
			}
		})
	}
	<-half
	require.NoError(t, f.instances[1].process.Kill())
	callers.Wait()
	require.Equal(t, charges, f.settled(t, time.Minute).Succeeded)
	token, at := contracts.NewTestUSDC(), devchain.USDC()
	answer, err := chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &at, Data: token.PackBalanceOf(devchain.Payee(0).Address)}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(answer)
	require.NoError(t, err)
	require.EqualValues(t, charges*1_000_000, balance.Int64())
}
