package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/paywarrant/paywarrant/server/rail"
)

// FeeLine sums the charges of one merchant that succeeded on one rail, and the refunds on it.
type FeeLine struct {
	// MerchantID identifies the merchant.
	MerchantID string
	// Rail is the rail that moved the money.
	Rail rail.Name
	// Charges is the number of charges.
	Charges int64
	// Gross is the sum of their amounts.
	Gross Micros
	// Fees is the sum of the fees that the merchant owes for them.
	Fees Micros
	// Refunds is the number of refunds, of charges of this month or an earlier one.
	Refunds int64
	// Refunded is the sum of their amounts.
	Refunded Micros
}

// Net returns what is left of Gross after the refunds. It is negative if more was given back
// than charged.
func (l FeeLine) Net() Micros { return l.Gross - l.Refunded }

// FeeStatement returns what merchants owe for the charges that were settled in a month, and the
// refunds that were posted in it: a line for each merchant and rail, in their order. If
// merchantID is not empty, the statement is of that merchant alone. Payees that are not
// merchants owe no fee and have no line. Refunds return no fee. Fees and refunds are sums of
// postings in one snapshot. FeeStatement returns [ErrInvariant] if a charge and its postings
// differ, and the errors of the store.
func FeeStatement(ctx context.Context, store Reader, month Month, merchantID string) ([]FeeLine, error) {
	type key struct {
		merchantID string
		rail       rail.Name
	}
	sums := map[key]FeeLine{}
	selection := Selection{MerchantID: merchantID, From: month.Start(), To: month.Next().Start(), Settled: true}
	err := store.Audit(ctx, func(a Audit) error {
		return a.SelectedPostings(ctx, selection, func(c Charge, p []Posting) error {
			if IsWallet(c.MerchantID) {
				return nil
			}
			k := key{c.MerchantID, c.Rail}
			line := sums[k]
			line.MerchantID, line.Rail = c.MerchantID, c.Rail
			if err := line.add(c, p, selection.includes(c.SettledAt)); err != nil {
				return err
			}
			sums[k] = line
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("fee statement: %w", err)
	}
	lines := make([]FeeLine, 0, len(sums))
	for _, line := range sums {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b FeeLine) int {
		return cmp.Or(cmp.Compare(a.MerchantID, b.MerchantID), cmp.Compare(a.Rail, b.Rail))
	})
	return lines, nil
}

// add adds the postings of a charge: its own if it was settled in the month, and those of its
// refunds.
func (l *FeeLine) add(c Charge, p []Posting, settled bool) (err error) {
	first := slices.IndexFunc(p, func(p Posting) bool { return p.N >= FirstRefundPosting })
	own, refunds := p, []Posting(nil)
	if first >= 0 {
		own, refunds = p[:first], p[first:]
	}
	for _, r := range refunds {
		if r.From != merchantAccount(c.MerchantID) {
			continue // from the rail to the payer
		}
		l.Refunds++
		if l.Refunded, err = l.Refunded.Add(r.Amount); err != nil {
			return err
		}
	}
	if !settled {
		return nil
	}
	if !slices.EqualFunc(postings(c, c.SettledAt), own, samePosting) {
		return fmt.Errorf("%w: postings of charge %s do not fit", ErrInvariant, c.ID)
	}
	l.Charges++
	if l.Gross, err = l.Gross.Add(c.Amount); err != nil {
		return err
	}
	if fee, owed := FeePosting(c, own); owed {
		l.Fees, err = l.Fees.Add(fee.Amount)
	}
	return err
}

// FeePosting returns the posting of a charge's fee, and whether the charge has one.
func FeePosting(c Charge, p []Posting) (fee Posting, ok bool) {
	i := slices.IndexFunc(p, func(p Posting) bool { return p.To == feesDueAccount(c.MerchantID) })
	if i < 0 {
		return Posting{}, false
	}
	return p[i], true
}
