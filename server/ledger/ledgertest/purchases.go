package ledgertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

func (b *bench) purchase(t *testing.T, m ledger.Mandate, amount ledger.Micros) ledger.Charge {
	t.Helper()
	r := b.request(m, amount)
	r.Payee, r.Source, r.Kind, r.Scope = ledger.WalletPayee("0xSeller"), ledger.SourceSeller, ledger.SellerKey, m.ID
	r.Rails = []rail.Name{rail.Chain}
	res, err := b.Reserve(t.Context(), r)
	require.NoError(t, err)
	return res.Charge
}

func took(funded ledger.Micros) ledger.Settlement {
	return ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Succeeded, TxHash: "0x1"}, Funded: funded}
}

func leftIt(funded ledger.Micros) ledger.Settlement {
	return ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Expired}, Funded: funded}
}

// purchases: the money of a purchase goes through the session account of its mandate, where it
// is the payer's at every moment.
func purchases(t *testing.T, b *bench) {
	terms := b.terms(500*cent, 5000*cent)
	terms.Payees, terms.Rails = []string{ledger.AnyPayee}, []rail.Name{rail.Chain}
	m := b.mandate(t, terms)
	inSessions := func(want ledger.Micros) {
		t.Helper()
		require.Equal(t, want, b.sound(t).InSessions)
	}
	unused := b.purchase(t, m, 300*cent)
	require.Equal(t, 300*cent, b.spent(t, m))
	inSessions(0)
	for range 2 {
		require.Equal(t, ledger.ChargeFailed, b.settle(t, unused, leftIt(200*cent)).Status)
	}
	require.Zero(t, b.spent(t, m), "the budget is given back, the money is still in the session account")
	inSessions(200 * cent)

	next := b.settle(t, b.purchase(t, m, 250*cent), took(50*cent))
	require.Equal(t, []any{ledger.ChargeSucceeded, ledger.SourceSeller, ledger.Micros(0)}, []any{next.Status, next.Source, next.Fee})
	inSessions(0)
	b.settle(t, b.purchase(t, m, 100*cent), leftIt(100*cent))
	b.settle(t, b.purchase(t, m, 10*cent), took(0))
	b.settle(t, b.purchase(t, m, 10*cent), leftIt(0))
	inSessions(90 * cent)
	sweep := ledger.Swept{ID: id.New(id.Sweep, b.clock.Now()), MandateID: m.ID, Amount: 90 * cent}
	for range 2 {
		require.NoError(t, b.Swept(t.Context(), sweep))
	}
	inSessions(0)
	require.Equal(t, 260*cent, b.spent(t, m))
	var sweeps []ledger.Posting
	require.NoError(t, b.store.Audit(t.Context(), func(a ledger.Audit) error {
		return a.Sweeps(t.Context(), func(p ledger.Posting) error {
			sweeps = append(sweeps, p)
			return nil
		})
	}))
	require.Len(t, sweeps, 1)
	require.Equal(t, []any{sweep.ID, "session:" + m.ID, "mandate:" + m.ID, 90 * cent}, []any{sweeps[0].ChargeID, sweeps[0].From, sweeps[0].To, sweeps[0].Amount})

	require.Equal(t, sweep.Amount, inSessionByPostings(t, b, m), "the sweep is not among the charges")

	_, err := b.Settle(t.Context(), b.purchase(t, m, cent), took(2*cent))
	require.ErrorIs(t, err, ledger.ErrInvariant, "more than the price")
	_, err = b.Settle(t.Context(), b.reserve(t, m, cent), took(cent))
	require.ErrorIs(t, err, ledger.ErrInvariant, "no purchase")
	require.ErrorIs(t, b.Swept(t.Context(), ledger.Swept{ID: "swp_1", MandateID: "del_none", Amount: 1}), ledger.ErrNotFound)
	require.ErrorIs(t, b.Swept(t.Context(), ledger.Swept{ID: "swp_1", MandateID: m.ID}), ledger.ErrInvariant)

	sweep.ID = id.New(id.Sweep, b.clock.Now())
	require.NoError(t, b.Swept(t.Context(), sweep), "more than there is")
	report, err := ledger.CheckAt(t.Context(), b.store, b.clock.Now())
	require.NoError(t, err)
	require.Len(t, report.Faults, 1)
	require.Contains(t, report.Faults[0], "session account of "+m.ID)
}

// inSessionByPostings returns what is in a mandate's session account by the postings of a period,
// and requires that another period has none.
func inSessionByPostings(t *testing.T, b *bench, m ledger.Mandate) (session ledger.Micros) {
	t.Helper()
	require.NoError(t, b.store.Audit(t.Context(), func(a ledger.Audit) error {
		s := ledger.Selection{From: b.clock.Now().Add(-time.Hour), To: b.clock.Now().Add(time.Hour), Settled: true}
		return a.SelectedPostings(t.Context(), s, func(_ ledger.Charge, all []ledger.Posting) error {
			for _, p := range all {
				if p.To == "session:"+m.ID {
					session += p.Amount
				}
				if p.From == "session:"+m.ID {
					session -= p.Amount
				}
			}
			return nil
		})
	}))
	require.NoError(t, b.store.Audit(t.Context(), func(a ledger.Audit) error {
		s := ledger.Selection{From: b.clock.Now().Add(time.Hour), Settled: true}
		return a.SelectedPostings(t.Context(), s, func(c ledger.Charge, _ []ledger.Posting) error {
			require.Fail(t, "another period", c.ID)
			return nil
		})
	}))
	return session
}
