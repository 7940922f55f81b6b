package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/stripe/stripetest"
	"github.com/paywarrant/paywarrant/test/internal/process"
)

// stripeDrill is `serve` with cards over an account at Stripe that loses requests and answers.
type stripeDrill struct {
	account *stripetest.Server
	command process.Command
	running *process.Process
	url     string
	shop    *client.Client
}

func newStripeDrill(t *testing.T) *stripeDrill {
	t.Helper()
	dir := t.TempDir()
	binary, err := programtest.Build(t.Context(), dir)
	require.NoError(t, err)
	addr, err := process.FreeAddr(t.Context())
	require.NoError(t, err)
	d := &stripeDrill{account: stripetest.Start(t), url: "http://" + addr}
	file := filepath.Join(dir, "pay.toml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
mode = "sandbox"
base_url = %q
listen = %q
store = %q
key_file = %q
[stripe]
api_url = %q
`, d.url, addr, filepath.Join(dir, "pay.db"), filepath.Join(dir, "kek"), d.account.URL), 0o600))
	out, err := exec.CommandContext(t.Context(), binary, "merchants", "create", "--config", file, "--name", "Shop").Output()
	require.NoError(t, err)
	var m struct{ ID, APIKey string }
	require.NoError(t, json.Unmarshal(out, &m))
	d.shop, err = client.New(client.Config{BaseURL: d.url, MerchantID: m.ID, APIKey: m.APIKey})
	require.NoError(t, err)
	d.command = process.Command{
		Binary: binary, Log: filepath.Join(dir, "log"), Args: []string{"serve", "--config", file}, Env: []string{"PAYWARRANT_STRIPE_KEY=" + stripetest.Key},
	}
	return d
}

// start starts the service and waits until it is ready.
func (d *stripeDrill) start(t *testing.T) {
	t.Helper()
	var err error
	d.running, err = d.command.Start(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/readyz", nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond)
}

// reconcile compares the ledger with the account.
func (d *stripeDrill) reconcile(t *testing.T, charges int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), d.command.Binary, "reconcile", "--config", d.command.Args[2])
	cmd.Env = append(os.Environ(), d.command.Env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("%d charges", charges))
}

// charge charges a dollar until there is an answer, which the charge's end may follow.
func (d *stripeDrill) charge(t *testing.T, mandate, key string) client.Charge {
	t.Helper()
	for {
		c, err := d.shop.Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: 100, Currency: client.USD, Description: "drill", IdempotencyKey: key})
		if err == nil {
			return c
		}
		if sleep(t.Context(), 50*time.Millisecond) != nil {
			return client.Charge{}
		}
	}
}

// TestStripeLosesDoublesAndLeavesNothing: the service dies at random moments under load, and
// one request in twelve to the processor fails before or after it was executed. Afterwards
// each charge is decided, and paid exactly once if it succeeded.
func TestStripeLosesDoublesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	kills := 8
	if testing.Short() {
		kills = 3
	}
	d := newStripeDrill(t)
	d.start(t)
	session, err := d.shop.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: 10_000_000})
	require.NoError(t, err)
	done, err := d.shop.CompleteTestSession(t.Context(), session.SessionToken, client.TestCompletion{PaymentMethods: []string{"pm_card_visa"}})
	require.NoError(t, err)
	faults := stripetest.Faults()
	d.account.Inject(func(*http.Request) stripetest.Fault {
		f := faults[rand.IntN(len(faults))]
		if rand.IntN(12) > 0 || f == stripetest.HangBefore || f == stripetest.HangAfter { // they take 10 s each
			return stripetest.None
		}
		return f
	})
	d.account.DelaySearch(time.Minute)
	stop := make(chan struct{})
	var mu sync.Mutex
	var answers []client.Charge
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				c := d.charge(t, done.Mandate, fmt.Sprintf("k-%d-%d", i, n))
				mu.Lock()
				answers = append(answers, c)
				mu.Unlock()
			}
		})
	}
	for range kills {
		require.NoError(t, sleep(t.Context(), time.Duration(400+rand.IntN(800))*time.Millisecond))
		require.NoError(t, d.running.Kill())
		d.start(t)
	}
	close(stop)
	callers.Wait()
	d.account.Inject(func(*http.Request) stripetest.Fault { return stripetest.None })
	succeeded := 0
	for _, c := range answers {
		var end client.Receipt
		require.Eventually(t, func() bool {
			end, err = d.shop.Receipt(t.Context(), c.TransactionID)
			return err == nil && end.Status != client.Pending
		}, time.Minute, 50*time.Millisecond, "undecided")
		require.True(t, c.Status == client.Pending || c.Status.Paid() == end.Status.Paid(), "answered %s, ended %s", c.Status, end.Status)
		paid := d.account.Paid("paywarrant_reference", rail.Reference(c.TransactionID, rail.Card))
		if end.Status.Paid() {
			succeeded++
			require.Equal(t, 1, paid, c.TransactionID)
		} else {
			require.Zero(t, paid, c.TransactionID)
		}
	}
	require.Positive(t, succeeded)
	require.EqualValues(t, succeeded*100, d.account.Moved())
	require.NoError(t, d.running.Stop())
	d.reconcile(t, succeeded)
	t.Logf("%d kills, %d charges, %d succeeded: 0 lost, doubled, undecided", kills, len(answers), succeeded)
}
