package rail

import (
	"context"
	"encoding/json"
	"time"
)

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

// SignedRefunder is a [Refunder] on which the payee signs each refund. Refund and LookupRefund
// return [Pending] until the payee has signed and the money has moved, and [Refused] with
// [Expired] if the signature comes too late. An outcome is final only if the money cannot move
// any more: any program that has the payee's signature can move it without the rail.
type SignedRefunder interface {
	Refunder
	// RefundProposal returns what the payee must sign, and false if the reference has no
	// refund that waits for a signature.
	RefundProposal(ctx context.Context, reference string) (RefundProposal, bool, error)
	// SignRefund accepts the payee's signature of a proposal, moves the money, and returns
	// the outcome as Refund does. A repeated call returns the current outcome. It returns
	// [ErrNoProposal] for a reference without a proposal, [ErrSignature] if the payee did
	// not sign, and a [RefusedError] if the transfer would fail now. After those, nothing
	// has changed, and the same signature may be handed in again.
	SignRefund(ctx context.Context, reference, signature string) (Outcome, error)
}

// RefundProposal is what a payee signs so that a refund can move.
type RefundProposal struct {
	// Signer is the address of the payee's wallet.
	Signer string
	// TypedData is the message (EIP-712) for eth_signTypedData_v4.
	TypedData json.RawMessage
	// ExpiresAt is the time from which the signature moves nothing.
	ExpiresAt time.Time
}
