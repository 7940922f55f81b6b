package row

import (
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Refund reads a stored row.
func Refund(r db.Refund) (ledger.Refund, error) {
	return ledger.Refund{
		ID: r.ID, ChargeID: r.ChargeID, MandateID: r.MandateID, MerchantID: r.MerchantID, N: int(r.N), Amount: ledger.Micros(r.AmountMicros),
		Reason: r.Reason, Fingerprint: r.Fingerprint, Status: ledger.RefundStatus(r.Status), Rail: rail.Name(r.Rail), TxHash: r.TxHash,
		ProcessorID: r.ProcessorID, FailureReason: rail.Reason(r.FailureReason), LeaseOwner: r.LeaseOwner, LeaseUntil: at(r.LeaseMs),
		Asked: int(r.Asked), CreatedAt: at(r.CreatedMs), SettledAt: at(r.SettledMs),
	}, nil
}

// InsertRefund is what a statement of that name takes.
func InsertRefund(r ledger.Refund) db.InsertRefundParams {
	return db.InsertRefundParams{
		ID: r.ID, ChargeID: r.ChargeID, MandateID: r.MandateID, MerchantID: r.MerchantID, N: int64(r.N), AmountMicros: int64(r.Amount),
		Reason: r.Reason, Fingerprint: r.Fingerprint, Status: string(r.Status), Rail: string(r.Rail), TxHash: r.TxHash,
		ProcessorID: r.ProcessorID, FailureReason: string(r.FailureReason), LeaseOwner: r.LeaseOwner, LeaseMs: Millis(r.LeaseUntil),
		Asked: int64(r.Asked), CreatedMs: Millis(r.CreatedAt), SettledMs: Millis(r.SettledAt),
	}
}

// UpdateRefund is what a statement of that name takes.
func UpdateRefund(r ledger.Refund) db.UpdateRefundParams {
	return db.UpdateRefundParams{
		ID: r.ID, Status: string(r.Status), TxHash: r.TxHash, ProcessorID: r.ProcessorID, FailureReason: string(r.FailureReason),
		LeaseOwner: r.LeaseOwner, LeaseMs: Millis(r.LeaseUntil), Asked: int64(r.Asked), SettledMs: Millis(r.SettledAt),
	}
}

// UpdateChargeRefunds is what a statement of that name takes.
func UpdateChargeRefunds(c ledger.Charge) db.UpdateChargeRefundsParams {
	return db.UpdateChargeRefundsParams{
		ID: c.ID, RefundedMicros: int64(c.Refunded), RefundingMicros: int64(c.Refunding), Refunds: int64(c.Refunds),
	}
}

// WithRefunds returns those of the charges that have refunds.
func WithRefunds(charges []ledger.Charge) (all []ledger.Charge) {
	for _, c := range charges {
		if c.Refunds > 0 {
			all = append(all, c)
		}
	}
	return all
}
