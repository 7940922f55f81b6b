// Package card moves money by card: a sandbox card processor, and the rail that calls it
// like an external service.
//
// The [Processor] stores customers, payment methods and payments in its own SQLite file, and
// returns only what is on disk. A payment is authorized and captured, in one transaction
// unless [Faults] stop it in between, or held until a part or all of it is captured, or
// none. What was captured can be refunded. The caller's reference identifies it: the same
// reference moves money at most once, for every caller, before and after a crash. The [Rail]
// calls the processor through [Gateway], in one process or over HTTP ([Processor.Handler] on
// one side, [HTTP] on the other):
//
//	processor, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: "card.db"})
//	if err != nil { … }
//	defer processor.Close()
//	cards, err := card.New(card.Config{Gateway: processor})
//
// [Sandbox] is the short form for a service with one store. [TestCards] returns the test
// cards, one for each possible result of a charge. [Faults] make the processor slow and
// unreliable while it runs.
//
// The package does not accept real cards or convert currencies. Amounts are whole US cents.
// What is held does not expire: the caller voids it.
package card

import (
	"context"
	"errors"
)

// Gateway is what the rail needs of a card processor. [Processor] and [HTTP] implement it.
// An error other than those that a method names means that the outcome is unknown: the
// work may have been done.
type Gateway interface {
	// CreateCustomer creates a payer, once per reference. It returns
	// [ErrReferenceReused] if the reference was used with other parameters.
	CreateCustomer(ctx context.Context, params CustomerParams) (Customer, error)
	// CreateMethod connects a card to a customer, once per reference. A refused card is
	// not an error but has the state [MethodRefused]. It returns [ErrUnknownCard],
	// [ErrUnknownCustomer] or [ErrReferenceReused].
	CreateMethod(ctx context.Context, params MethodParams) (Method, error)
	// Pay authorizes and captures, once per reference. A repeated call returns the result
	// of the first, and captures a payment that was only authorized. It returns
	// [ErrReferenceReused] if the reference was used with other parameters.
	Pay(ctx context.Context, params PaymentParams) (Payment, error)
	// Authorize holds the amount of a payment and does not capture it, once per reference.
	// It returns [ErrReferenceReused] if the reference was used with other parameters, or
	// by Pay.
	Authorize(ctx context.Context, params PaymentParams) (Payment, error)
	// Capture captures a payment that Pay authorized and did not capture. Other payments
	// do not change. It returns [ErrUnknownPayment] for an unknown reference.
	Capture(ctx context.Context, reference string) (Payment, error)
	// CaptureHeld captures at most the amount of a payment that Authorize holds, once. A
	// repeated call returns the result of the first. It returns [ErrUnknownPayment],
	// [ErrAmountTooLarge] or [ErrReferenceReused].
	CaptureHeld(ctx context.Context, params CaptureParams) (Payment, error)
	// Void cancels a payment that is not captured. Other payments do not change. An
	// unknown reference is voided for good.
	Void(ctx context.Context, reference string) (Payment, error)
	// Payment returns the payment of a reference. It returns [ErrUnknownPayment] for an
	// unknown reference.
	Payment(ctx context.Context, reference string) (Payment, error)
	// Refund gives back at most what was captured of a payment, once per reference. A
	// repeated call returns the result of the first, and finishes a pending refund. It
	// returns [ErrReferenceReused] if the reference was used with other parameters.
	Refund(ctx context.Context, params RefundParams) (Refund, error)
	// FindRefund returns the refund of a reference. It returns [ErrUnknownRefund] for an
	// unknown reference.
	FindRefund(ctx context.Context, reference string) (Refund, error)
}

// Errors of a processor. After the first seven, nothing was done. They are preserved over HTTP.
var (
	// ErrInvalid reports malformed parameters.
	ErrInvalid = errors.New("card: invalid parameters")
	// ErrReferenceReused reports a reference that was used before with other parameters.
	ErrReferenceReused = errors.New("card: reference used before with other parameters")
	// ErrUnknownCard reports that no test card has that name.
	ErrUnknownCard = errors.New("card: no such card")
	// ErrUnknownCustomer reports that no customer has that id.
	ErrUnknownCustomer = errors.New("card: no such customer")
	// ErrUnknownPayment reports an unknown reference.
	ErrUnknownPayment = errors.New("card: no such payment")
	// ErrUnknownRefund reports an unknown reference of a refund.
	ErrUnknownRefund = errors.New("card: no such refund")
	// ErrAmountTooLarge reports a capture of more than is held.
	ErrAmountTooLarge = errors.New("card: more than is held")
	// ErrUnavailable reports that there is no response: none, a part or all of the work
	// may have been done.
	ErrUnavailable = errors.New("card: processor unavailable")
	// ErrClosed reports that the processor or its sandbox is closed.
	ErrClosed = errors.New("card: closed")
)
