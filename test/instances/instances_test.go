// Package instances_test runs several `paywarrant serve` processes on one
// PostgreSQL, kills one, and restarts the database, under load.
package instances_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/test/internal/process"
	"github.com/paywarrant/paywarrant/test/internal/waittest"
)

// fleet is a database, a card processor and the instances that share them.
type fleet struct {
	cluster   *pgtest.Cluster
	processor *card.Processor
	instances []*instance
	merchant  client.Merchant
}

type instance struct {
	url     string
	process *process.Process
}

func setup(t *testing.T, n int) *fleet {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	f := &fleet{cluster: pgtest.Start(t)}
	var err error
	f.processor, err = card.OpenProcessor(ctx, card.ProcessorConfig{Path: filepath.Join(dir, "card.db"), Faults: card.Faults{LatencyMillis: 5}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.processor.Close()) })
	gateway := httptest.NewServer(f.processor.Handler())
	t.Cleanup(gateway.Close)
	binary, err := programtest.Build(ctx, dir)
	require.NoError(t, err)
	for i := range n {
		addr, err := process.FreeAddr(ctx)
		require.NoError(t, err)
		config := filepath.Join(dir, fmt.Sprintf("%d.toml", i))
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
mode = "sandbox"
base_url = "http://127.0.0.1:4020"
listen = %q
store = %q
key_file = %q
requests_per_second = 10000
[sandbox_card]
processor_url = %q
`, addr, f.cluster.URL(), filepath.Join(dir, "kek"), gateway.URL), 0o600))
		p, err := process.Command{
			Binary: binary, Log: filepath.Join(dir, fmt.Sprintf("%d.log", i)), Args: []string{"serve", "--config", config},
		}.Start(ctx)
		require.NoError(t, err)
		one := &instance{url: "http://" + addr, process: p}
		f.instances = append(f.instances, one)
		t.Cleanup(func() { _ = one.process.Kill() })
		require.Eventually(t, one.ready, time.Minute, 20*time.Millisecond)
	}
	f.merchant, err = f.client(t, 0, client.Merchant{ID: "mer_none", APIKey: "sk_test_none"}).CreateTestMerchant(ctx, "Fleet")
	require.NoError(t, err)
	return f
}

func (i *instance) ready() bool {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, i.url+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// client calls one instance, and tries each call once: what it sees is tested.
func (f *fleet) client(t *testing.T, i int, as client.Merchant) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: f.instances[i].url, MerchantID: as.ID, APIKey: as.APIKey, MaxRetries: -1})
	require.NoError(t, err)
	return c
}

func (f *fleet) mandate(t *testing.T, perTx, monthly int64) string {
	t.Helper()
	c := f.client(t, 0, f.merchant)
	s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: perTx, MaxMonthlySpendCents: monthly})
	require.NoError(t, err)
	done, err := c.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{})
	require.NoError(t, err)
	return done.Mandate
}

// settled waits until nothing is pending, and checks the ledger.
func (f *fleet) settled(t *testing.T, within time.Duration) ledger.Report {
	t.Helper()
	store, err := postgres.Open(t.Context(), f.cluster.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	var r ledger.Report
	require.Eventually(t, func() bool {
		r, err = ledger.Check(t.Context(), store)
		return err == nil && r.Pending == 0
	}, within, 200*time.Millisecond)
	require.Empty(t, r.Faults)
	return r
}

// sound waits until nothing is pending, and checks ledger and processor.
func (f *fleet) sound(t *testing.T, within time.Duration) ledger.Report {
	t.Helper()
	r := f.settled(t, within)
	moved, err := f.processor.Totals(t.Context())
	require.NoError(t, err)
	cents, whole := r.Volume.WholeCents()
	require.True(t, whole)
	require.Equal(t, moved.CapturedCents, cents)
	require.EqualValues(t, r.Succeeded, moved.Payments)
	return r
}

func TestMain(m *testing.M) { waittest.Run(m) }

// TestTwoInstancesHoldOneLimit: 400 charges at once on one mandate over two
// instances, one of which is killed half way.
func TestTwoInstancesHoldOneLimit(t *testing.T) {
	t.Parallel()
	f := setup(t, 2)
	m := f.mandate(t, 100, 20_000)
	clients := []*client.Client{f.client(t, 0, f.merchant), f.client(t, 1, f.merchant)}
	var all sync.WaitGroup
	var answered, succeeded, refused atomic.Int64
	var once sync.Once
	for i := range 400 {
		all.Go(func() {
			p := client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "race", IdempotencyKey: fmt.Sprint("k", i)}
			for at := i % 2; t.Context().Err() == nil; at = 0 {
				c, err := clients[at].Charge(t.Context(), p)
				switch {
				case err == nil && c.Status == client.Completed:
					succeeded.Add(1)
				case errors.Is(err, client.ErrMonthlyLimit) && !errors.Is(err, client.ErrUnknownOutcome):
					refused.Add(1)
				default:
					continue // at the instance that lives
				}
				break
			}
			if answered.Add(1) >= 200 {
				once.Do(func() { require.NoError(t, f.instances[1].process.Kill()) })
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 200, succeeded.Load())
	require.EqualValues(t, 200, refused.Load())
	require.Equal(t, 200, f.sound(t, 2*time.Minute).Succeeded)
}

// TestDatabaseRestartsUnderLoad: clients see errors that can be retried, and
// nothing else; afterwards the ledger is sound.
func TestDatabaseRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	m := f.mandate(t, 100, 10_000_000)
	c := f.client(t, 0, f.merchant)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var succeeded, interrupted atomic.Int64
	for i := range 8 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				p := client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USD, Description: "load", IdempotencyKey: fmt.Sprintf("k%d-%d", i, n)}
				for {
					ch, err := c.Charge(t.Context(), p)
					if err == nil && ch.Status != client.Pending {
						succeeded.Add(1)
						break
					}
					if err != nil {
						interrupted.Add(1)
						retryable(t, err)
					}
				}
			}
		})
	}
	for range 3 {
		before := succeeded.Load()
		require.Eventually(t, func() bool { return succeeded.Load() > before+50 }, time.Minute, 10*time.Millisecond)
		require.NoError(t, f.cluster.Restart(t.Context()))
	}
	before := succeeded.Load()
	require.Eventually(t, func() bool { return succeeded.Load() > before+50 }, time.Minute, 10*time.Millisecond)
	stop()
	all.Wait()
	t.Logf("%d charges, %d answers that were to be retried", succeeded.Load(), interrupted.Load())
	require.EqualValues(t, succeeded.Load(), f.sound(t, 2*time.Minute).Succeeded)
}

// retryable requires an error whose request may be repeated.
func retryable(t *testing.T, err error) {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		return // no answer at all
	}
	ok := e.Status == http.StatusServiceUnavailable || e.Status == http.StatusConflict
	if !ok || strings.Contains(e.Message, "sql") {
		t.Errorf("not to be retried: %v", err)
	}
}
