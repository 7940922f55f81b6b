package mandate

import "time"

// Payment is what [Mandate.Precheck] judges.
type Payment struct {
	// AmountMicros is in millionths of a US dollar.
	AmountMicros int64
	// Payee is the id of the merchant.
	Payee string
	// Rail is how it would be paid; empty where any rail of the mandate will do.
	Rail Rail
}

// microsPerCent is how many millionths of a dollar make a cent.
const microsPerCent = 10_000

// Precheck tells whether the mandate could allow the payment at the time now,
// by what was signed. It cannot know what was spent this month, nor status or
// revocation: nil means that asking the service is worth it, not that money
// will move. The times of the mandate are taken exactly, without clock skew.
//
// Errors: [*Error] with bad_amount ([ErrBadPayment]), expired ([ErrExpired]),
// not_yet_valid ([ErrInvalid]), payee_not_allowed ([ErrPayeeNotAllowed]),
// rail_not_allowed ([ErrRailNotAllowed]) or per_tx ([ErrPerTxLimit]), in that order.
func (m *Mandate) Precheck(p Payment, now time.Time) error {
	switch {
	case p.AmountMicros <= 0:
		return refuse(BadAmount)
	case !now.Before(m.ExpiresAt):
		return refuse(Expired)
	case now.Before(m.NotBefore):
		return refuse(NotYetValid)
	case !m.AllowsPayee(p.Payee):
		return refuse(PayeeNotAllowed)
	case p.Rail != "" && !m.AllowsRail(p.Rail):
		return refuse(RailNotAllowed)
	case centsUp(p.AmountMicros) > m.Limits.MaxPerTxCents:
		return refuse(PerTx)
	}
	return nil
}

// centsUp rounds a positive amount up to cents, so that no product can overflow.
func centsUp(micros int64) int64 { return (micros-1)/microsPerCent + 1 }
