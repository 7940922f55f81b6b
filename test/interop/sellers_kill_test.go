package interop_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
)

// dying is an agent's journal, service and connection to sellers, which all end at one step of a
// purchase, as those of a killed process do.
type dying struct {
	agent.Journal
	http.RoundTripper
	*client.Client

	at   string
	dead atomic.Bool
}

var errDead = errors.New("the process has ended")

func (d *dying) around(step string, do func() error) error {
	if d.at == "before "+step {
		d.dead.Store(true)
	}
	if d.dead.Load() {
		return errDead
	}
	err := do()
	if d.at == "after "+step {
		d.dead.Store(true)
	}
	if d.dead.Load() {
		return errDead
	}
	return err
}

func (d *dying) Record(ctx context.Context, e agent.JournalEntry, release bool) error {
	return d.around(string(e.State), func() error { return d.Journal.Record(ctx, e, release) })
}

func (d *dying) Forget(ctx context.Context, id string) error {
	return d.around("forgotten", func() error { return d.Journal.Forget(ctx, id) })
}

func (d *dying) CreateCredential(ctx context.Context, mandate string, p client.CredentialParams) (c client.Credential, err error) {
	err = d.around("funded", func() error { c, err = d.Client.CreateCredential(ctx, mandate, p); return err })
	return c, err
}

func (d *dying) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	step := "asked"
	for _, name := range []string{x402.HeaderPaymentSignature, x402.HeaderPayment, mpp.HeaderCredential} {
		if r.Header.Get(name) != "" {
			step = "paid for"
		}
	}
	err = d.around(step, func() error { resp, err = d.RoundTripper.RoundTrip(r); return err })
	if err != nil && resp != nil {
		_ = resp.Body.Close()
		resp = nil
	}
	return resp, err
}

// buyOnce buys in a process that ends at a step, or at none, and reports whether it has ended.
func (s *street) buyOnce(ctx context.Context, t *testing.T, shop officialShop, mandate, token, path, at string) (bool, agent.Fetched, error) {
	t.Helper()
	j, err := journal.OpenFile(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	service, err := client.New(client.Config{BaseURL: s.URL, AccessToken: token})
	require.NoError(t, err)
	base := &http.Transport{DisableKeepAlives: true}
	d := &dying{Journal: j, RoundTripper: base, Client: service, at: at}
	buyer, err := agent.New(agent.Config{
		Service: d, Mandate: mandate, MaxPriceMicros: 10_000, BudgetMicros: 10_000, AllowPrivate: true, Methods: []agent.Method{shop.way}, Journal: d, Base: d,
	})
	require.NoError(t, err)
	got, err := buyer.Fetch(ctx, agent.FetchParams{URL: shop.url})
	return d.dead.Load(), got, err
}

// TestKilledAgentPaysOfficialServersOnce: an agent ends at each step of a purchase and starts
// again. Each seller has each price once, and each purchase was funded once.
func TestKilledAgentPaysOfficialServersOnce(t *testing.T) {
	t.Parallel()
	s := openStreet(t)
	steps := []string{"before funded", "after funded", "before sent", "after sent", "after paid for"}
	mandate := s.Mandate(t, servertest.Terms{
		MaxPerTxCents: 1, MaxMonthlySpendCents: int64(len(steps) * len(s.shops)), AllowedMerchantIDs: []string{"*"}, PaymentMethods: []string{"wallet"},
	})
	token, before, dir := s.token(t, mandate), s.wallets(t), t.TempDir()
	var all sync.WaitGroup
	for _, shop := range s.shops {
		for _, at := range steps {
			all.Go(func() {
				name := shop.server + " " + at
				path := filepath.Join(dir, filepath.Base(shop.server)+string(shop.way)+at)
				ctx := agent.WithPurchaseKey(t.Context(), "the weather")
				ended, _, _ := s.buyOnce(ctx, t, shop, mandate, token, path, at)
				if !ended {
					t.Errorf("%s: the process has not ended", name)
				}
				var got agent.Fetched
				var err error
				for range 5 { // a purchase whose money takes long is continued
					if _, got, err = s.buyOnce(ctx, t, shop, mandate, token, path, ""); err == nil {
						break
					}
				}
				// After the lost answer a server without memory says that the payment was used.
				if at != "after paid for" && (err != nil || got.Status != http.StatusOK) {
					t.Errorf("%s: status %d, error %v", name, got.Status, err)
				}
			})
		}
	}
	all.Wait()
	paid := int64(0)
	for _, shop := range s.shops {
		has := s.has(t, shop.payTo)
		require.EqualValues(t, 10_000*len(steps), has, shop.server)
		paid += has
	}
	require.Equal(t, before-paid, s.wallets(t), "each purchase was funded once")
	require.Eventually(t, func() bool {
		r, err := s.CheckLedger(t.Context())
		return err == nil && len(r.Faults) == 0 && r.Succeeded == len(steps)*len(s.shops) && r.Pending == 0 && r.Failed == 0 && r.InSessions == 0
	}, time.Minute, 50*time.Millisecond)
}
