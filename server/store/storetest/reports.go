package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// reports: lists of dashboards are of one merchant, newest first, and their sums are by day.
func reports(t *testing.T, b *bench) {
	ctx := t.Context()
	first := b.mandate(t)
	b.charge(t, first)
	failed := b.reserve(t, first)
	b.settle(t, failed, rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined})
	b.clock.set(b.clock.Now().AddDate(0, 0, 1))
	second := b.mandate(t)
	b.charge(t, second)
	b.reserve(t, second)

	find := func(f store.ChargeFilter) []ledger.Charge {
		f.MerchantID, f.Limit = b.merchant.ID, 10
		found, more, err := b.store.SearchCharges(ctx, f)
		require.NoError(t, err)
		require.Empty(t, more)
		return found
	}
	all, err := b.store.Charges(ctx, b.merchant.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Equal(t, all, find(store.ChargeFilter{}))
	require.Equal(t, all[1:], find(store.ChargeFilter{Before: all[0].ID}))
	for name, c := range map[string]struct {
		filter store.ChargeFilter
		number int
	}{
		"state":                  {store.ChargeFilter{Status: ledger.ChargeSucceeded}, 2},
		"rail":                   {store.ChargeFilter{Rail: rail.Card}, 3},
		"other rail":             {store.ChargeFilter{Rail: rail.Chain}, 0},
		"reason":                 {store.ChargeFilter{Reason: rail.CardDeclined}, 1},
		"mandate":                {store.ChargeFilter{MandateID: first.ID}, 2},
		"mandate and state":      {store.ChargeFilter{MandateID: first.ID, Status: ledger.ChargeFailed}, 1},
		"reference":              {store.ChargeFilter{Reference: "pay_1"}, 2},
		"mandate and reference":  {store.ChargeFilter{MandateID: second.ID, Reference: "pay_1"}, 1},
		"part of a reference":    {store.ChargeFilter{Reference: "pay"}, 0},
		"from":                   {store.ChargeFilter{From: b.clock.Now()}, 2},
		"to":                     {store.ChargeFilter{To: b.clock.Now()}, 2},
		"a period without any":   {store.ChargeFilter{From: b.clock.Now().Add(time.Second), To: b.clock.Now().Add(time.Hour)}, 0},
		"a mandate and a period": {store.ChargeFilter{MandateID: second.ID, To: b.clock.Now()}, 0},
	} {
		require.Len(t, find(c.filter), c.number, name)
	}

	totals, err := b.store.ChargeTotals(ctx, b.merchant.ID, b.clock.Now().AddDate(0, 0, -7), b.clock.Now().Add(time.Hour))
	require.NoError(t, err)
	today := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	require.Equal(t, []store.ChargeTotal{
		{Day: today.AddDate(0, 0, -1), Status: ledger.ChargeFailed, Rail: rail.Card, Reason: rail.CardDeclined, Count: 1, Amount: cent},
		{Day: today.AddDate(0, 0, -1), Status: ledger.ChargeSucceeded, Rail: rail.Card, Count: 1, Amount: cent},
		{Day: today, Status: ledger.ChargePending, Count: 1, Amount: cent},
		{Day: today, Status: ledger.ChargeSucceeded, Rail: rail.Card, Count: 1, Amount: cent},
	}, totals)
	totals, err = b.store.ChargeTotals(ctx, b.merchant.ID, today, b.clock.Now())
	require.NoError(t, err)
	require.Empty(t, totals)

	listsOfMandates(t, b, first, second)
}

// listsOfMandates: the newest is first, and ended ones do not count among the usable.
func listsOfMandates(t *testing.T, b *bench, first, second ledger.Mandate) {
	t.Helper()
	ctx := t.Context()
	mandates, err := b.store.MandatesOf(ctx, b.merchant.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, mandates, 2)
	want, err := b.store.Mandate(ctx, second.ID)
	require.NoError(t, err)
	require.Equal(t, want, mandates[0])
	require.NotEmpty(t, mandates[0].Windows)
	mandates, err = b.store.MandatesOf(ctx, b.merchant.ID, second.ID, 10)
	require.NoError(t, err)
	require.Len(t, mandates, 1)
	_, err = b.Revoke(ctx, second.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	usable, err := b.store.UsableMandatesOf(ctx, b.merchant.ID, b.clock.Now(), 1)
	require.NoError(t, err)
	require.Equal(t, mandates, usable, "the limit counts usable mandates alone")
	usable, err = b.store.UsableMandatesOf(ctx, b.merchant.ID, first.Terms.ExpiresAt, 1)
	require.NoError(t, err)
	require.Empty(t, usable)
}

// reportsOfAnother: nothing of one merchant is in a report of another.
func reportsOfAnother(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t)
	b.charge(t, m)
	found, _, err := b.store.SearchCharges(ctx, store.ChargeFilter{MerchantID: "mer_other", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, found)
	found, _, err = b.store.SearchCharges(ctx, store.ChargeFilter{MerchantID: "mer_other", MandateID: m.ID, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, found)
	totals, err := b.store.ChargeTotals(ctx, "mer_other", time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Empty(t, totals)
	mandates, err := b.store.MandatesOf(ctx, "mer_other", "", 10)
	require.NoError(t, err)
	require.Empty(t, mandates)
}

// searchesAreBounded: a search for what is rare reads a part of the charges at a time, and finds
// it in the end.
func searchesAreBounded(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t)
	wanted := b.reserve(t, m)
	b.settle(t, wanted, rail.Outcome{Status: rail.Refused, Reason: rail.ExpiredCard})
	like, err := b.store.Charge(ctx, wanted.ID)
	require.NoError(t, err)
	var others []ledger.Charge
	for i := range store.MaxSearched + 10 {
		c := like
		c.ID, c.CreatedAt = id.New(id.Charge, b.clock.Now().Add(time.Second+time.Duration(i)*time.Millisecond)), b.clock.Now().Add(time.Second)
		c.FailureReason = rail.CardDeclined
		others = append(others, c)
	}
	require.NoError(t, b.store.Update(ctx, ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
		return ledger.Effects{Insert: ledger.Rows{Charges: others}}, nil
	}))
	for _, mandateID := range []string{"", m.ID} {
		f := store.ChargeFilter{MerchantID: b.merchant.ID, MandateID: mandateID, Reason: rail.ExpiredCard, Limit: 10}
		found, more, err := b.store.SearchCharges(ctx, f)
		require.NoError(t, err)
		require.Empty(t, found)
		require.NotEmpty(t, more)
		f.Before = more
		found, more, err = b.store.SearchCharges(ctx, f)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, wanted.ID, found[0].ID)
		require.Empty(t, more)
	}
}

// merchantsByEmail: an address is found in any case, and an empty one finds none.
func merchantsByEmail(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.merchant
	m.Email = "Ada@Example.com"
	require.NoError(t, b.store.PutMerchant(ctx, m))
	found, err := b.store.MerchantsByEmail(ctx, "ada@example.COM", 10)
	require.NoError(t, err)
	require.Equal(t, []ledger.Merchant{m}, found)
	require.NoError(t, b.store.PutMerchant(ctx, ledger.Merchant{ID: "mer_none", Name: "None", CreatedAt: b.clock.Now()}))
	for _, email := range []string{"", "ada@example.com.evil", "%"} {
		found, err = b.store.MerchantsByEmail(ctx, email, 10)
		require.NoError(t, err)
		require.Empty(t, found, email)
	}
}
