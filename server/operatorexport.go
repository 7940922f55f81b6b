package server

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// EachCharge calls each with the selected charges in the order of their ids, from one
// snapshot of the ledger and in constant memory. The snapshot stays open until EachCharge
// returns. It returns the error of each.
func (o *Operator) EachCharge(ctx context.Context, s ledger.Selection, each func(ledger.Charge) error) error {
	if err := o.payee(ctx, s.MerchantID); err != nil {
		return err
	}
	return o.config.Store.Audit(ctx, func(a ledger.Audit) error { return a.Selected(ctx, s, each) })
}

// EachChargePostings is like [Operator.EachCharge], and calls each with the postings of the
// charge in order. By the time of settlement, a refund belongs to the period in which it was
// posted: see [ledger.Selection.Posted]. A selection of all payees also has the sweeps that were
// posted in the period, each with a charge that has only its id and mandate.
func (o *Operator) EachChargePostings(ctx context.Context, s ledger.Selection, each func(ledger.Charge, []ledger.Posting) error) error {
	if err := o.payee(ctx, s.MerchantID); err != nil {
		return err
	}
	return o.config.Store.Audit(ctx, func(a ledger.Audit) error {
		if err := a.SelectedPostings(ctx, s, each); err != nil || s.MerchantID != "" {
			return err
		}
		return a.Sweeps(ctx, func(p ledger.Posting) error {
			if p.At.Before(s.From) || !s.To.IsZero() && !p.At.Before(s.To) {
				return nil
			}
			return each(ledger.Charge{ID: p.ChargeID, MandateID: p.MandateID, Rail: rail.Chain, Source: ledger.SourceSeller}, []ledger.Posting{p})
		})
	})
}

// FeeStatement returns what merchants owe for the charges that were settled in a month, and the
// refunds of the month: see [ledger.FeeStatement].
func (o *Operator) FeeStatement(ctx context.Context, month ledger.Month, merchantID string) ([]ledger.FeeLine, error) {
	if err := o.payee(ctx, merchantID); err != nil {
		return nil, err
	}
	return ledger.FeeStatement(ctx, o.config.Store, month, merchantID)
}

// Backlog returns the number of pending charges and the time at which the oldest was
// created.
func (o *Operator) Backlog(ctx context.Context) (pending int, oldest time.Time, err error) {
	return o.config.Store.Backlog(ctx)
}

// payee returns an error if id names a merchant that does not exist. Wallets and the empty
// id name none.
func (o *Operator) payee(ctx context.Context, id string) error {
	if id == "" || ledger.IsWallet(id) {
		return nil
	}
	_, err := o.Merchant(ctx, id)
	return err
}
