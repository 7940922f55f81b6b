package rail

import "context"

// Refund asks a rail to move money of a charge back to its payer.
type Refund struct {
	// Reference identifies the refund: money moves at most once per reference. The
	// references of refunds and of charges are independent of each other.
	Reference string
	// Charge is the reference under which the rail moved the money.
	Charge string
	// Amount is the amount to move back.
	Amount Micros
	// Description appears on the payer's statement.
	Description string
}

// Refunder is a [Rail] that can move money back.
type Refunder interface {
	// Refund moves an amount of a succeeded charge or capture back to its payer, at most
	// once per reference. It returns [Succeeded], [Refused] or [Pending]. It is Refused if
	// the charge has not succeeded, if the refunds of the charge would together exceed
	// what it captured, or if the rail cannot move the amount. A repeated call returns the
	// outcome of the first, and finishes it if it was interrupted. It returns
	// [ErrReferenceReused] if charge or amount differ from the first call.
	Refund(ctx context.Context, r Refund) (Outcome, error)
	// LookupRefund returns the outcome of a refund's reference, or [Unseen].
	LookupRefund(ctx context.Context, reference string) (Outcome, error)
}
