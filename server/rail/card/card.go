// Package card moves money by card: a sandbox card processor, and the rail that
// talks to it as to a foreign service.
//
// The [Processor] keeps customers, payment methods and payments in an SQLite file
// of its own and answers only what is on disk. A payment is authorized and
// captured, in one transaction unless [Faults] stop it in between, and is named by
// the caller's reference: the same reference moves money at most once, whoever
// asks, however often, before or after a crash. The [Rail] reaches it through
// [Gateway], in one process or over HTTP ([Processor.Handler] on one side, [HTTP]
// on the other):
//
//	processor, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: "card.db"})
//	if err != nil { … }
//	defer processor.Close()
//	fiat, err := card.New(card.Config{Gateway: processor})
//
// [Sandbox] is the short form of that for a service with one store. [TestCards]
// lists the cards there are, one for each way in which a charge can end, and
// [Faults] makes the processor slow and unreliable while it runs.
//
// The package takes no real cards, refunds nothing, and converts no currency:
// amounts are whole US cents.
package card

import (
	"context"
	"errors"
)

// Gateway is what the rail needs of a card processor. [Processor] and [HTTP] are
// two. An error of any method other than those it names means that the outcome is
// unknown: the work may have been done.
type Gateway interface {
	// CreateCustomer makes a payer, once for the reference. [ErrReferenceReused].
	CreateCustomer(ctx context.Context, params CustomerParams) (Customer, error)
	// CreateMethod connects a card to a customer, once for the reference; a card
	// that is refused is an answer too ([MethodRefused]). [ErrUnknownCard],
	// [ErrUnknownCustomer], [ErrReferenceReused].
	CreateMethod(ctx context.Context, params MethodParams) (Method, error)
	// Pay authorizes and captures, once for the reference. A repeat answers what
	// became of the first, and captures what was only authorized.
	// [ErrReferenceReused].
	Pay(ctx context.Context, params PaymentParams) (Payment, error)
	// Capture moves the money of a payment that is authorized, and leaves every
	// other as it is. [ErrUnknownPayment].
	Capture(ctx context.Context, reference string) (Payment, error)
	// Void gives a payment up that is not captured, and leaves every other as it
	// is. A reference not seen yet is voided for good.
	Void(ctx context.Context, reference string) (Payment, error)
	// Payment tells what became of a reference. [ErrUnknownPayment].
	Payment(ctx context.Context, reference string) (Payment, error)
}

// What a processor answers beside outcomes. The first five are definite: nothing
// was done. They are the same through HTTP.
var (
	// ErrInvalid tells that parameters are malformed.
	ErrInvalid = errors.New("card: invalid parameters")
	// ErrReferenceReused tells that a reference was used with other parameters.
	ErrReferenceReused = errors.New("card: reference used before with other parameters")
	// ErrUnknownCard tells that no test card has that name.
	ErrUnknownCard = errors.New("card: no such card")
	// ErrUnknownCustomer tells that no customer has that id.
	ErrUnknownCustomer = errors.New("card: no such customer")
	// ErrUnknownPayment tells that the reference was never seen.
	ErrUnknownPayment = errors.New("card: no such payment")
	// ErrUnavailable tells that no answer is to be had: nothing, a part or all of
	// the work may have been done.
	ErrUnavailable = errors.New("card: processor unavailable")
	// ErrClosed tells that the processor, or the sandbox around it, is closed.
	ErrClosed = errors.New("card: closed")
)
