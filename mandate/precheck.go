package mandate

import "time"

// Payment is a payment for [Mandate.Precheck] to check.
type Payment struct {
	// AmountMicros is the amount in millionths of a US dollar.
	AmountMicros int64
	// Payee is the id of the merchant (mer_…).
	Payee string
	// Rail is the rail that would be used. Default: any rail of the mandate.
	Rail Rail
}

// microsPerCent is the number of millionths of a dollar in a cent.
const microsPerCent = 10_000

// Precheck reports whether the mandate could allow the payment at the time now, judging
// by what was signed. It does not know what was spent this month, nor whether the mandate
// was revoked: a nil error means that it is worth asking the service, not that money will
// move. The mandate's times are compared exactly, without clock skew.
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

// centsUp rounds a positive amount up to cents. It cannot overflow.
func centsUp(micros int64) int64 { return (micros-1)/microsPerCent + 1 }
