package server_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
)

// operated is a service, and an operator on its store.
func operated(t *testing.T) (caller, *server.Operator, store.Store) {
	t.Helper()
	return operatedWith(t, servertest.Options{})
}

func operatedWith(t *testing.T, options servertest.Options) (caller, *server.Operator, store.Store) {
	t.Helper()
	var store store.Store
	var at func() time.Time
	options.Configure = func(cfg *server.Config) { store, at = cfg.Store, cfg.Clock }
	c := setup(t, &options)
	o, err := server.NewOperator(server.OperatorConfig{Store: store, Mode: server.Sandbox, Actor: "operator:ada", Clock: at})
	require.NoError(t, err)
	return c, o, store
}

func TestSuspendedMerchantIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	c, o, store := operated(t)
	m := c.mandate(t, 100, 1000)
	c.charge(t, m, 10, "before").ok(t)
	require.NoError(t, o.SetActive(t.Context(), c.merchant.ID, false, "complaints"))
	c.charge(t, m, 10, "after").refused(t, 403, "merchant_inactive")
	c.do(t, "GET", "/v1/merchants/transactions", "").ok(t)
	require.NoError(t, o.SetActive(t.Context(), c.merchant.ID, true, ""))
	c.charge(t, m, 10, "again").ok(t)

	require.NoError(t, o.SetMaxCharge(t.Context(), c.merchant.ID, 50_000, ""))
	c.charge(t, m, 10, "over").refused(t, 402, "merchant_limit_exceeded")
	c.charge(t, m, 5, "within").ok(t)
	log, err := store.AuditOf(t.Context(), c.merchant.ID, 10)
	require.NoError(t, err)
	require.Len(t, log, 3)
	require.Equal(t, []string{"merchant.suspend", "complaints", "operator:ada"}, []string{log[2].Action, log[2].Reason, log[2].Actor})
	require.ErrorIs(t, o.SetActive(t.Context(), "mer_none", false, ""), ledger.ErrNotFound)
	require.Error(t, o.SetActive(t.Context(), c.merchant.ID, false, "a\x00b"))
}

func TestRevokedAPIKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	plain, key, err := o.CreateAPIKey(t.Context(), c.merchant.ID, "billing")
	require.NoError(t, err)
	old := c.merchant.APIKey
	for range 3 { // whatever the service remembers of it
		c.do(t, "GET", "/v1/merchants/transactions", "").ok(t)
	}
	keys, err := o.APIKeys(t.Context(), c.merchant.ID)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	first := keys[slices.IndexFunc(keys, func(k store.APIKey) bool { return k.Hash != key.Hash })] // both may be of one millisecond
	_, err = o.RevokeAPIKey(t.Context(), first.ID(), "leaked")
	require.NoError(t, err)
	c.do(t, "GET", "/v1/merchants/transactions", "").refused(t, 401, "unauthorized")
	c.merchant.APIKey = plain
	c.do(t, "GET", "/v1/merchants/transactions", "").ok(t)
	_, err = o.RevokeAPIKey(t.Context(), first.ID(), "")
	require.ErrorIs(t, err, server.ErrKeyRevoked)
	require.NotEqual(t, old, plain)
	require.Equal(t, "billing", key.Label)
}

func TestStuckChargeIsResolvedOnce(t *testing.T) {
	t.Parallel()
	c, o, store := operated(t)
	m := c.mandate(t, 100, 1000, "card_slow")
	stuck := c.charge(t, m, 10, "k").ok(t)
	require.Equal(t, "pending", stuck.str("status"))
	txn := stuck.str("transactionId")
	_, err := o.ResolveCharge(t.Context(), txn, server.Resolution{})
	require.Error(t, err, "it says why")
	_, err = o.ResolveCharge(t.Context(), txn, server.Resolution{Succeeded: true, Reason: "seen"})
	require.ErrorContains(t, err, "processor id: required")
	resolved, err := o.ResolveCharge(t.Context(), txn, server.Resolution{Reason: "the processor has no trace of it"})
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeFailed, resolved.Status)
	require.Equal(t, rail.ProcessorError, resolved.FailureReason)
	_, err = o.ResolveCharge(t.Context(), txn, server.Resolution{Reason: "again"})
	require.ErrorIs(t, err, server.ErrDecided)
	shown, log, err := o.Charge(t.Context(), txn)
	require.NoError(t, err)
	require.Equal(t, resolved.ID, shown.ID)
	require.Len(t, log, 1)
	require.Equal(t, "the processor has no trace of it", log[0].Reason)
	require.Equal(t, 0, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"), "what it held is given back")
	r, err := ledger.Check(t.Context(), store)
	require.NoError(t, err)
	require.Empty(t, r.Faults)
}

// TestChargeThatIsBeingAskedIsNotResolved: an instance may learn the outcome now.
func TestChargeThatIsBeingAskedIsNotResolved(t *testing.T) {
	t.Parallel()
	c, o, store := operated(t)
	m := c.mandate(t, 100, 1000)
	charged := c.charge(t, m, 10, "k").ok(t)
	leased, err := store.Charge(t.Context(), charged.str("transactionId"))
	require.NoError(t, err)
	leased.Status, leased.SettledAt, leased.ID, leased.LeaseOwner, leased.LeaseUntil = ledger.ChargePending, time.Time{}, "txn_leased", "other.1", time.Now().Add(time.Minute)
	require.NoError(t, store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
		return ledger.Effects{Insert: ledger.Rows{Charges: []ledger.Charge{leased}}}, nil
	}))
	_, err = o.ResolveCharge(t.Context(), "txn_leased", server.Resolution{Reason: "impatience"})
	require.ErrorIs(t, err, server.ErrBeingAsked)
}

func TestInvalidMerchantsAreRefusedByTheParameter(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	for param, p := range map[string]server.MerchantParams{
		"Name":    {Name: " "},
		"Email":   {Name: "A", Email: "nope"},
		"Website": {Name: "A", Website: "ftp://x"},
		"PayTo":   {Name: "A", PayTo: "0x1"},
	} {
		_, err := c.CreateMerchant(t.Context(), p)
		var named *server.ParamError
		require.ErrorAs(t, err, &named)
		require.Equal(t, param, named.Param)
	}
	const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	_, err := o.CreateMerchant(t.Context(), server.MerchantParams{Name: "A", Email: "a@shop.example", PayTo: wallet})
	require.NoError(t, err)
	_, err = c.CreateMerchant(t.Context(), server.MerchantParams{Name: "B", PayTo: wallet})
	require.EqualError(t, err, "create merchant: PayTo: another merchant has this wallet")
}

func TestKeyRingNeedsAnActorThatTheAuditLogCanHold(t *testing.T) {
	t.Parallel()
	_, _, store := operated(t)
	_, err := server.NewKeyRing(server.KeyRingConfig{Store: store, Actor: "a\x00b"})
	require.ErrorContains(t, err, "KeyRingConfig.Actor")
}
