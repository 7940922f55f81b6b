package ledgertest

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// selected returns the selected charges with their postings, and requires that both
// methods read the same charges.
func (b *bench) selected(t *testing.T, s ledger.Selection) (charges []ledger.Charge, postings [][]ledger.Posting) {
	t.Helper()
	var again []ledger.Charge
	require.NoError(t, b.Audit(t.Context(), func(a ledger.Audit) error {
		err := a.Selected(t.Context(), s, func(c ledger.Charge) error {
			charges = append(charges, c)
			return nil
		})
		require.NoError(t, err)
		return a.SelectedPostings(t.Context(), s, func(c ledger.Charge, p []ledger.Posting) error {
			again, postings = append(again, c), append(postings, p)
			return nil
		})
	}))
	require.Equal(t, charges, again)
	require.True(t, slices.IsSortedFunc(charges, func(a, b ledger.Charge) int { return cmp.Compare(a.ID, b.ID) }), "in the order of ids")
	return charges, postings
}

// onChain is a success on the chain that was settled at a time.
func onChain(hash string, at time.Time) ledger.Settlement {
	return ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Succeeded, TxHash: hash, SettledAt: at}}
}

// selections: a period includes its first instant and not its end, by the time of creation
// or of settlement, for one payee or all.
func selections(t *testing.T, b *bench) {
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	terms := b.terms(100*cent, 1000*cent)
	terms.Payees = []string{ledger.AnyPayee}
	m := b.mandate(t, terms)
	other := ledger.WalletPayee("0x00000000000000000000000000000000000000b1")
	reserve := func(at time.Time, payee ledger.Merchant) ledger.Charge {
		b.clock.set(at)
		r := b.request(m, 10*cent)
		r.Payee = payee
		reserved, err := b.Reserve(t.Context(), r)
		require.NoError(t, err)
		return reserved.Charge
	}
	november := december.AddDate(0, -1, 0)
	first := reserve(november, b.merchant)
	late := reserve(december.Add(-time.Millisecond), b.merchant)
	failed := reserve(december.Add(-time.Millisecond), b.merchant)
	strange := reserve(december.Add(-time.Millisecond), other)
	next := reserve(december, b.merchant)
	pending := reserve(december.Add(time.Hour), b.merchant)
	first = b.settle(t, first, succeeded()) // settled now, in December
	late = b.settle(t, late, onChain("0xa", december.Add(-time.Millisecond)))
	failed = b.settle(t, failed, declined())
	strange = b.settle(t, strange, onChain("0xb", december))
	next = b.settle(t, next, onChain("0xc", december.Add(-time.Millisecond))) // by a clock behind ours

	for name, c := range map[string]struct {
		selection ledger.Selection
		want      []ledger.Charge
	}{
		"all":                {ledger.Selection{}, []ledger.Charge{first, late, failed, strange, next, pending}},
		"created":            {ledger.Selection{From: november, To: december}, []ledger.Charge{first, late, failed, strange}},
		"created after":      {ledger.Selection{From: november.Add(time.Nanosecond)}, []ledger.Charge{late, failed, strange, next, pending}},
		"created before":     {ledger.Selection{To: december.Add(time.Nanosecond)}, []ledger.Charge{first, late, failed, strange, next}},
		"before all clocks":  {ledger.Selection{From: time.Unix(-1, 0), To: december}, []ledger.Charge{first, late, failed, strange}},
		"of a merchant":      {ledger.Selection{MerchantID: b.merchant.ID, From: november, To: december}, []ledger.Charge{first, late, failed}},
		"of a wallet":        {ledger.Selection{MerchantID: other.ID}, []ledger.Charge{strange}},
		"of no merchant":     {ledger.Selection{MerchantID: "mer_none"}, nil},
		"succeeded":          {ledger.Selection{Settled: true}, []ledger.Charge{first, late, strange, next}},
		"settled":            {ledger.Selection{Settled: true, From: november, To: december}, []ledger.Charge{late, next}},
		"settled after":      {ledger.Selection{Settled: true, From: december}, []ledger.Charge{first, strange}},
		"settled, of one":    {ledger.Selection{Settled: true, From: december, MerchantID: b.merchant.ID}, []ledger.Charge{first}},
		"settled, any begin": {ledger.Selection{Settled: true, From: time.Unix(-1, 0), To: december}, []ledger.Charge{late, next}},
	} {
		slices.SortFunc(c.want, func(a, b ledger.Charge) int { return cmp.Compare(a.ID, b.ID) })
		got, postings := b.selected(t, c.selection)
		require.Equal(t, c.want, got, name)
		for i, charge := range got {
			want := 0
			switch {
			case charge.Status == ledger.ChargeSucceeded && charge.Fee > 0:
				want = 3
			case charge.Status == ledger.ChargeSucceeded:
				want = 2
			}
			require.Len(t, postings[i], want, name)
		}
	}
}

// selectionsReadOneSnapshot: charges that succeed while a selection is read are not in it.
func selectionsReadOneSnapshot(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	b.settle(t, b.reserve(t, m, cent), succeeded())
	open := b.reserve(t, m, cent)
	require.NoError(t, b.Audit(t.Context(), func(a ledger.Audit) error {
		read := func() (n, succeeded int) {
			require.NoError(t, a.SelectedPostings(t.Context(), ledger.Selection{}, func(c ledger.Charge, p []ledger.Posting) error {
				n++
				if len(p) > 0 {
					succeeded++
				}
				require.Equal(t, c.Status == ledger.ChargeSucceeded, len(p) > 0)
				return nil
			}))
			return n, succeeded
		}
		n, done := read()
		require.Equal(t, []int{2, 1}, []int{n, done})
		b.settle(t, open, succeeded())
		b.settle(t, b.reserve(t, m, cent), succeeded())
		n, done = read()
		require.Equal(t, []int{2, 1}, []int{n, done})
		return nil
	}))
	charges, _ := b.selected(t, ledger.Selection{Settled: true})
	require.Len(t, charges, 3)
}

// selectionsOfMany: a selection of more charges than are read at a time has each once, and
// the error of the caller ends it.
func selectionsOfMany(t *testing.T, b *bench) {
	const many = 4100
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	now := b.clock.Now()
	var e ledger.Effects
	want := map[string]bool{}
	for i := range many {
		at := now.Add(time.Duration(i) * time.Millisecond)
		c := ledger.Charge{
			ID: id.New(id.Charge, at), MandateID: m.ID, MerchantID: b.merchant.ID, Amount: cent, Currency: "usd", Metadata: map[string]string{},
			Rails: []rail.Name{rail.Card}, Status: ledger.ChargeSucceeded, Rail: rail.Card, CreatedAt: at, SettledAt: at,
		}
		want[c.ID] = true
		e.Insert.Charges = append(e.Insert.Charges, c)
		e.Insert.Postings = append(e.Insert.Postings, ledger.Posting{ChargeID: c.ID, MandateID: m.ID, From: "a", To: "b", Amount: cent, At: at})
	}
	b.write(t, e)
	for _, s := range []ledger.Selection{{}, {Settled: true}, {MerchantID: b.merchant.ID}, {MerchantID: b.merchant.ID, Settled: true}} {
		charges, postings := b.selected(t, s)
		require.Len(t, charges, many)
		for i, c := range charges {
			require.True(t, want[c.ID])
			require.Len(t, postings[i], 1)
			require.Equal(t, c.ID, postings[i][0].ChargeID)
		}
	}
	enough := errors.New("enough")
	n := 0
	err := b.Audit(t.Context(), func(a ledger.Audit) error {
		return a.Selected(t.Context(), ledger.Selection{}, func(ledger.Charge) error {
			if n++; n == 3000 {
				return enough
			}
			return nil
		})
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 3000, n)
}

// feeStatement: the fees of a statement are the sum of the fee postings of the charges that
// were settled in the month, whenever they were created; a charge whose postings do not
// fit has no statement.
func feeStatement(t *testing.T, b *bench) {
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	terms := b.terms(200*cent, 2000*cent)
	terms.Payees = []string{ledger.AnyPayee}
	m := b.mandate(t, terms)
	shop := b.merchant
	other := ledger.Merchant{ID: shop.ID + "B", Active: true}
	wallet := ledger.WalletPayee("0x00000000000000000000000000000000000000b1")
	pay := func(payee ledger.Merchant, amount ledger.Micros, end ledger.Settlement) {
		r := b.request(m, amount)
		r.Payee = payee
		reserved, err := b.Reserve(t.Context(), r)
		require.NoError(t, err)
		b.settle(t, reserved.Charge, end)
	}
	pay(shop, 10*cent, onChain("0x1", time.Time{}))
	pay(shop, 150*cent, onChain("0x2", time.Time{}))
	pay(shop, 20*cent, succeeded())
	pay(shop, 30*cent, declined())
	pay(other, 50*cent, onChain("0x3", time.Time{}))
	pay(wallet, 50*cent, onChain("0x4", time.Time{}))
	pay(shop, 60*cent, onChain("0x5", december)) // created in November, settled in December
	b.clock.set(december.Add(time.Minute))
	pay(shop, 70*cent, onChain("0x6", december.Add(-time.Second))) // and the other way round

	statement := func(month ledger.Month, merchantID string) []ledger.FeeLine {
		lines, err := ledger.FeeStatement(t.Context(), b.store, month, merchantID)
		require.NoError(t, err)
		return lines
	}
	november := []ledger.FeeLine{
		{MerchantID: shop.ID, Rail: rail.Chain, Charges: 3, Gross: 230 * cent, Fees: (5_000 + 30_000 + 21_000)},
		{MerchantID: shop.ID, Rail: rail.Card, Charges: 1, Gross: 20 * cent},
		{MerchantID: other.ID, Rail: rail.Chain, Charges: 1, Gross: 50 * cent, Fees: 15_000},
	}
	require.ElementsMatch(t, november, statement(202611, ""))
	require.ElementsMatch(t, november[:2], statement(202611, shop.ID))
	require.Equal(t, []ledger.FeeLine{{MerchantID: shop.ID, Rail: rail.Chain, Charges: 1, Gross: 60 * cent, Fees: 18_000}}, statement(202612, ""))
	require.Empty(t, statement(202610, ""))

	var stated, posted ledger.Micros
	for _, month := range []ledger.Month{202611, 202612} {
		for _, line := range statement(month, "") {
			stated += line.Fees
		}
	}
	require.NoError(t, b.Audit(t.Context(), func(a ledger.Audit) error {
		return a.Charges(t.Context(), func(_ ledger.Charge, p []ledger.Posting) error {
			for _, p := range p {
				if p.To == "merchant:"+shop.ID+":fees_due" || p.To == "merchant:"+other.ID+":fees_due" {
					posted += p.Amount
				}
			}
			return nil
		})
	}))
	require.Equal(t, posted, stated)

	charges, _ := b.selected(t, ledger.Selection{MerchantID: other.ID})
	charges[0].Fee++
	b.write(t, ledger.Effects{Update: ledger.Rows{Charges: charges}})
	_, err := ledger.FeeStatement(t.Context(), b.store, 202611, "")
	require.ErrorIs(t, err, ledger.ErrInvariant)
	require.ErrorContains(t, err, charges[0].ID)
}
