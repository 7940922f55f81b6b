package rail

import (
	"context"
	"net/http"
)

// Redirector is a [Rail] on which a person connects a payment method at another address,
// such as a page of the card processor, and then returns.
type Redirector interface {
	// BeginSetup returns the address that the person opens. After the setup, the person
	// returns to ReturnURL with the value for [Connection.Method] in its query, as
	// [ReturnedMethod]; Connect then fetches the result. Connect accepts the method only
	// with the same session. It returns [ErrReferenceReused] if the reference began another
	// setup.
	BeginSetup(ctx context.Context, s Setup) (address string, err error)
	// EndSetup makes the result of a setup useless, because somebody else than the person
	// whose session it is may have entered the payment method: Connect refuses it from then
	// on, and no charge with it moves money. It returns [ErrUnknownMethod] if the session
	// has no setup with that method.
	EndSetup(ctx context.Context, method, session string) error
}

// Addressed is a [Rail] whose processor may know the email address of a payer.
type Addressed interface {
	// PayerEmail returns the address, or an empty string.
	PayerEmail(ctx context.Context, in Instrument) (string, error)
}

// ReturnedMethod is the name in the query of [Setup.ReturnURL] of the value for
// [Connection.Method].
const ReturnedMethod = "method"

// Setup is the setup of a payment method at another address.
type Setup struct {
	// Reference identifies the setup: the same reference begins one.
	Reference string
	// Session identifies the setup session, as in [Connection.Session].
	Session string
	// ReturnURL is the address to which the person returns after the setup. It has a query.
	ReturnURL string
	// Notice is plain text that the person reads at the other address, before the end of
	// the setup: who may charge the payment method, and how much. It may be cut off at its
	// end. Empty: none.
	Notice string
	// CancelURL is the address to which a person returns who gives up.
	CancelURL string
}

// Notifier is a [Rail] whose processor reports changes.
type Notifier interface {
	// OnChanged sets the function that receives each charge and refund that may have
	// changed, before the first event. A report is a hint: the outcome is what the rail
	// returns afterwards. If the function returns an error, the processor reports the change
	// again later. Repeated reports are harmless.
	OnChanged(report func(ctx context.Context, c Changed) error)
}

// Changed is a charge or refund that may have changed.
type Changed struct {
	// Rail is the rail that reports it.
	Rail Name
	// Reference is that of the charge, or of the refund.
	Reference string
	// Refund reports whether it is a refund.
	Refund bool
}

// Receiver is a [Rail] whose processor sends events over HTTP.
type Receiver interface {
	// Events returns the handler that verifies and receives the events.
	Events() http.Handler
}
