package server_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/server/servertest/postgres"
	"github.com/paywarrant/paywarrant/x402"
)

// books is a service with traffic on both rails, whose ledger and rails a test can change
// behind its back.
type books struct {
	facilitated

	config  *server.Config
	ledger  *ledger.Ledger
	mandate string // id
	byCard  client.Charge
}

func withBooks(t *testing.T, open func(testing.TB) servertest.Store, more ...func(*server.Config)) *books {
	t.Helper()
	b := &books{}
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start, Store: open, Configure: func(c *server.Config) {
		for _, change := range more {
			change(c)
		}
		b.config = c
	}})
	b.facilitated = facilitated{Server: srv, payer: devchain.Wallets()[0], payee: srv.Merchant.PayTo}
	b.asset, _ = x402.USDC(srv.Chain.ID)
	var err error
	b.ledger, err = ledger.New(ledger.Config{Store: b.config.Store, Clock: srv.Clock.Now})
	require.NoError(t, err)
	t.Cleanup(b.ledger.Close)
	return b
}

// traffic is one of each: charges, a refund, a capture of a part, a failure, a signed transfer.
func (b *books) traffic(t *testing.T) {
	t.Helper()
	c := caller{Server: b.Server, merchant: b.Merchant}
	m := c.mandate(t, 500, 1_000_000, "card_visa", "wallet")
	balance, err := b.Client().Balance(t.Context(), m)
	require.NoError(t, err)
	b.mandate = balance.MandateID
	b.byCard = c.chargeIn(t, m, 300, client.USD)
	onChain := c.chargeIn(t, m, 200, client.USDC)
	_, err = b.Client().Refund(t.Context(), b.byCard.TransactionID, client.RefundParams{AmountCents: 100, IdempotencyKey: "r"})
	require.NoError(t, err)
	r := c.unsignedRefund(t, onChain, 50, "on chain")
	signature, err := signRefund(t, r)
	require.NoError(t, err)
	_, err = b.Client().SignRefund(t.Context(), onChain.TransactionID, r.ID, signature)
	require.NoError(t, err)
	held, err := b.Client().Authorize(t.Context(), client.AuthorizeParams{ChargeParams: client.ChargeParams{Mandate: m, AmountCents: 400, Currency: client.USD, Description: "hold"}})
	require.NoError(t, err)
	_, err = b.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountCents: 70})
	require.NoError(t, err)
	tiny := c.mandate(t, 500, 10_000, "card_visa")
	for range 3 {
		_, err := b.Client().Charge(t.Context(), client.ChargeParams{Mandate: tiny, AmountCents: 30, Currency: client.USD, Description: "draw", Tab: true})
		require.NoError(t, err)
	}
	_, err = b.Client().CloseTab(t.Context(), c.settledTabs(t)[0].ID)
	require.NoError(t, err)
	require.EqualValues(t, 90, c.settledTabs(t)[0].CapturedCents)
	require.Equal(t, client.Failed, c.chargeIn(t, c.mandate(t, 500, 1000, "card_decline_after_setup"), 100, client.USD).Status)
	settled := b.ask(t, "settle", b.requestOf(2, b.sign(t, b.authorize(10_000)), "10000"))
	require.Equal(t, true, settled.Body["success"], settled.Text)
}

func (b *books) reconcile(t *testing.T, from time.Time) (found []server.Difference, r server.Reconciliation) {
	t.Helper()
	r, err := server.Reconcile(t.Context(), server.ReconcileConfig{
		Ledger: b.config.Store, Rails: b.config.Rails, Clock: b.Clock.Now, From: from, Dir: t.TempDir(),
	}, func(d server.Difference) error {
		found = append(found, d)
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, len(found), r.Differences)
	return found, r
}

// record has the ledger have a charge that a rail moved.
func (b *books) record(t *testing.T, chargeID string, on rail.Name, amount ledger.Micros) {
	t.Helper()
	r, err := b.ledger.Reserve(t.Context(), ledger.Reserve{
		ChargeID: chargeID, MandateID: b.mandate, TokenValid: true, Payee: ledger.Merchant{ID: b.Merchant.ID, Active: true}, PayTo: b.payee,
		Amount: amount, Currency: "usd", Description: "planted", Rails: []rail.Name{rail.Card, rail.Chain}, IdempotencyKey: chargeID,
		Fingerprint: chargeID, Lease: time.Hour,
	})
	require.NoError(t, err)
	_, err = b.ledger.Settle(t.Context(), r.Charge, ledger.Settlement{Rail: on, Outcome: rail.Outcome{Status: rail.Succeeded, ProcessorID: "planted"}})
	require.NoError(t, err)
}

func (b *books) rail(t *testing.T, name rail.Name) rail.Rail {
	t.Helper()
	for _, one := range b.config.Rails {
		if one.Name() == name {
			return one
		}
	}
	t.Fatalf("no rail %s", name)
	return nil
}

// move moves money for a charge, past the service.
func (b *books) move(t *testing.T, chargeID string, on rail.Name, amount ledger.Micros) {
	t.Helper()
	rows, err := b.config.Store.InstrumentsOfMandate(t.Context(), b.mandate)
	require.NoError(t, err)
	for _, one := range rows {
		if one.Rail != on {
			continue
		}
		o, err := b.rail(t, on).Charge(t.Context(), rail.Charge{
			Reference: rail.Reference(chargeID, on), MandateID: b.mandate, MerchantID: b.Merchant.ID, PayTo: b.payee, Amount: amount,
			Instrument: rail.Instrument{Rail: on, Customer: one.Customer, Method: one.Method},
		})
		require.NoError(t, err)
		require.Equal(t, rail.Succeeded, o.Status, o.Reason)
	}
}

// plant makes the four differences on a rail, and returns what must be found.
func (b *books) plant(t *testing.T, on, other rail.Name) (want []server.Difference) {
	t.Helper()
	const dollar = ledger.Micros(1_000_000)
	now := b.Clock.Now()
	unknown, unmoved, wrong, twice := id.New(id.Charge, now), id.New(id.Charge, now), id.New(id.Charge, now), id.New(id.Charge, now)
	b.move(t, unknown, on, dollar)
	b.record(t, unmoved, on, dollar)
	b.move(t, wrong, on, 2*dollar)
	b.record(t, wrong, on, dollar)
	b.move(t, twice, on, dollar)
	b.move(t, twice, other, dollar)
	b.record(t, twice, on, dollar)
	return []server.Difference{
		{Cause: server.MovementWithoutCharge, Rail: on, Reference: rail.Reference(unknown, on), Moved: dollar},
		{Cause: server.ChargeWithoutMovement, Rail: on, TransactionID: unmoved, Recorded: dollar},
		{Cause: server.WrongAmount, Rail: on, TransactionID: wrong, Recorded: dollar, Moved: 2 * dollar},
		{Cause: server.MovedTwice, Rail: other, TransactionID: twice, Recorded: dollar, Moved: dollar},
	}
}

// plantRefunds makes the two differences of refunds.
func (b *books) plantRefunds(t *testing.T) []server.Difference {
	t.Helper()
	const cents = ledger.Micros(250_000)
	refunder, ok := b.rail(t, rail.Card).(rail.Refunder)
	require.True(t, ok)
	reference := rail.Reference(ledger.RefundID(b.Merchant.ID, "past the ledger"), rail.Card)
	o, err := refunder.Refund(t.Context(), rail.Refund{Reference: reference, Charge: rail.Reference(b.byCard.TransactionID, rail.Card), Amount: cents})
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, o.Status)
	c, err := b.config.Store.Charge(t.Context(), b.byCard.TransactionID)
	require.NoError(t, err)
	r, _, err := b.ledger.Refund(t.Context(), ledger.RefundRequest{
		Charge: c, MerchantID: c.MerchantID, Amount: cents, IdempotencyKey: "past the rail", Fingerprint: "f", Lease: time.Hour,
	})
	require.NoError(t, err)
	_, err = b.ledger.SettleRefund(t.Context(), r, rail.Outcome{Status: rail.Succeeded, ProcessorID: "planted"})
	require.NoError(t, err)
	return []server.Difference{
		{Cause: server.MovementWithoutCharge, Rail: rail.Card, Reference: reference, Moved: cents},
		{Cause: server.ChargeWithoutMovement, Rail: rail.Card, TransactionID: c.ID, RefundID: r.ID, Recorded: cents},
	}
}

// TestReconcileFindsTenPlantedDifferences: each with its cause, on both engines; and none
// before they are planted.
func TestReconcileFindsTenPlantedDifferences(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) servertest.Store{"sqlite": nil, "postgres": postgres.Open} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := withBooks(t, open)
			began := b.Clock.Now().Add(-time.Hour)
			b.traffic(t)
			b.Clock.Advance(3 * time.Hour)
			found, r := b.reconcile(t, time.Time{})
			require.Empty(t, found)
			require.Equal(t, []int64{7, 2, 7}, []int64{r.Charges, r.Refunds, r.Movements})
			require.Empty(t, r.Unlisted)

			want := append(b.plant(t, rail.Card, rail.Chain), b.plant(t, rail.Chain, rail.Card)...)
			want = append(want, b.plantRefunds(t)...)
			found, _ = b.reconcile(t, time.Time{})
			for _, d := range found {
				require.NotContains(t, []server.DifferenceCause{server.ChargeWithoutMovement}, d.Cause, "it may be in flight")
			}
			b.Clock.Advance(3 * time.Hour)
			for _, from := range []time.Time{{}, began} {
				found, _ = b.reconcile(t, from)
				for i := range found {
					require.NotEmpty(t, found[i].Detail)
					if found[i].TransactionID != "" {
						found[i].Reference = ""
					}
					found[i].Detail, found[i].Movements = "", nil
				}
				require.ElementsMatch(t, want, found)
			}
			found, _ = b.reconcile(t, b.Clock.Now())
			for _, d := range found {
				require.NotEqual(t, server.ChargeWithoutMovement, d.Cause, "older than asked for")
			}
		})
	}
}

// TestReconcileShowsASecondOutcome: what a rail reported after the decision.
func TestReconcileShowsASecondOutcome(t *testing.T) {
	t.Parallel()
	b := withBooks(t, nil)
	b.traffic(t)
	c, err := b.config.Store.Charge(t.Context(), b.byCard.TransactionID)
	require.NoError(t, err)
	_, err = b.ledger.Settle(t.Context(), c, ledger.Settlement{Rail: rail.Card, Outcome: rail.Outcome{Status: rail.Succeeded, ProcessorID: "another"}})
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	found, _ := b.reconcile(t, time.Time{})
	require.Len(t, found, 1)
	require.Equal(t, []any{server.TwoOutcomes, c.ID, []string{"another"}}, []any{found[0].Cause, found[0].TransactionID, found[0].Movements})
}

// errorLog keeps the errors of a service.
type errorLog struct {
	slog.Handler

	mu     sync.Mutex
	errors []string
}

func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Level >= slog.LevelError {
		l.errors = append(l.errors, r.Message)
	}
	return nil
}

func (l *errorLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *errorLog) count(message string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.errors {
		if one == message {
			n++
		}
	}
	return n
}

// TestServiceReconcilesByItself: each night, and logs each difference.
func TestServiceReconcilesByItself(t *testing.T) {
	t.Parallel()
	log := &errorLog{Handler: slog.DiscardHandler}
	b := withBooks(t, nil, func(c *server.Config) { c.ReconcileEvery, c.Logger = 24*time.Hour, slog.New(log) })
	b.traffic(t)
	b.record(t, id.New(id.Charge, b.Clock.Now()), rail.Card, 1_000_000)
	const message = "the ledger and a rail differ"
	b.Clock.Advance(3 * time.Hour)
	require.Eventually(t, func() bool { return log.count(message) == 1 }, 20*time.Second, 50*time.Millisecond)
	b.Clock.Advance(12 * time.Hour)
	require.Never(t, func() bool { return log.count(message) > 1 }, 2500*time.Millisecond, 50*time.Millisecond, "not before the next night")
	b.Clock.Advance(13 * time.Hour)
	require.Eventually(t, func() bool { return log.count(message) == 2 }, 20*time.Second, 50*time.Millisecond)
}
