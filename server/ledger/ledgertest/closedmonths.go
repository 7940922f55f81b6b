package ledgertest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// books is what a month is closed with.
type books struct {
	Lines    []ledger.FeeLine
	Postings []ledger.Posting
}

// booksOf returns the statement and the postings of a month.
func (b *bench) booksOf(t *testing.T, month ledger.Month) (of books) {
	t.Helper()
	var err error
	of.Lines, err = ledger.FeeStatement(t.Context(), b.store, month, "")
	require.NoError(t, err)
	for _, merchantID := range []string{"", b.merchant.ID} {
		var all []ledger.Posting
		require.NoError(t, b.Audit(t.Context(), func(a ledger.Audit) error {
			s := ledger.Selection{MerchantID: merchantID, From: month.Start(), To: month.Next().Start(), Settled: true}
			return a.SelectedPostings(t.Context(), s, func(c ledger.Charge, p []ledger.Posting) error {
				require.NotEmpty(t, p, "a charge without a posting of the month")
				for _, one := range p {
					require.Equal(t, c.ID, one.ChargeID)
				}
				all = append(all, p...)
				return nil
			})
		}))
		require.True(t, slices.IsSortedFunc(all, func(a, b ledger.Posting) int {
			return cmp.Or(cmp.Compare(a.ChargeID, b.ChargeID), cmp.Compare(a.N, b.N))
		}))
		if merchantID != "" {
			require.Equal(t, of.Postings, all, "of the only merchant")
		}
		of.Postings = all
	}
	return of
}

// closedMonths: a refund belongs to the month in which it is made, whenever its payment was. What
// a month was closed with never changes, each posting is in one month, and a month's statement is
// the sum of its postings.
func closedMonths(t *testing.T, b *bench) {
	ctx := t.Context()
	random := rand.New(rand.NewPCG(1, 2)) // repeatable
	terms := b.terms(100*cent, 100_000*cent)
	terms.ExpiresAt = b.clock.Now().AddDate(1, 0, 0)
	m := b.mandate(t, terms)
	var (
		paid    []ledger.Charge
		pending []ledger.Refund // begun in one month, and perhaps made in a later one
		closed  = map[ledger.Month]books{}
		n       int
	)
	settleRefund := func(r ledger.Refund) {
		end := gaveBack
		if random.IntN(4) == 0 {
			end = rail.Outcome{Status: rail.Refused, Reason: rail.ProcessorError}
		} else if random.IntN(2) == 0 {
			end.SettledAt = r.CreatedAt // the rail moved it before the ledger knew
		}
		_, err := b.SettleRefund(ctx, r, end)
		require.NoError(t, err)
	}
	for range 5 {
		month := ledger.MonthOf(b.clock.Now())
		for !b.clock.Now().AddDate(0, 0, 2).After(month.Next().Start()) {
			b.clock.set(b.clock.Now().Add(time.Duration(random.IntN(48)) * time.Hour))
			end := succeeded()
			if random.IntN(2) == 0 {
				end = onChain(fmt.Sprint("0x", n), time.Time{})
			}
			paid = append(paid, b.settle(t, b.reserve(t, m, ledger.Micros(1+random.IntN(100))*cent), end))
			c := paid[random.IntN(len(paid))]
			n++
			r, _, err := b.Refund(ctx, b.refundOf(c, ledger.Micros(1+random.IntN(20))*cent, fmt.Sprint("refund ", n)))
			if err != nil {
				require.ErrorIs(t, err, ledger.ErrAboveCharge)
				continue
			}
			if pending = append(pending, r); random.IntN(3) > 0 {
				settleRefund(pending[0])
				pending = pending[1:]
			}
		}
		b.clock.set(month.Next().Start())
		closed[month] = b.booksOf(t, month)
	}
	for _, r := range pending {
		settleRefund(r)
	}
	b.booksAreClosed(t, closed, m)
}

// booksAreClosed requires that closed months are as they were closed, and that the months have
// every posting once.
func (b *bench) booksAreClosed(t *testing.T, closed map[ledger.Month]books, m ledger.Mandate) {
	t.Helper()
	last := ledger.MonthOf(b.clock.Now())
	var found int
	var refunded, stated ledger.Micros
	for month := range closed {
		require.Equal(t, closed[month], b.booksOf(t, month), "%s was closed", month)
	}
	closed[last] = b.booksOf(t, last)
	for month, of := range closed {
		var gross, back ledger.Micros
		for _, p := range of.Postings {
			switch {
			case p.From == "mandate:"+m.ID:
				gross += p.Amount
			case p.To == "mandate:"+m.ID:
				back += p.Amount
			}
		}
		for _, l := range of.Lines {
			gross, back, stated = gross-l.Gross, back-l.Refunded, stated+l.Refunded
			require.Equal(t, l.Gross-l.Refunded, l.Net())
		}
		require.Zero(t, gross, "gross of %s", month)
		require.Zero(t, back, "refunds of %s", month)
		found += len(of.Postings)
	}
	all := 0
	require.NoError(t, b.Audit(t.Context(), func(a ledger.Audit) error {
		return a.Charges(t.Context(), func(c ledger.Charge, p []ledger.Posting) error {
			all += len(p)
			refunded += c.Refunded
			return nil
		})
	}))
	require.Equal(t, all, found, "each posting is in one month")
	require.Equal(t, refunded, stated)
	require.Positive(t, refunded)
	b.sound(t)
}
