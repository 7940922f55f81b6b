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
	// ReturnURL is where the person returns to after the setup. It has a query.
	ReturnURL string
	// CancelURL is where a person returns to who gives up.
	CancelURL string
}

// Receiver is a [Rail] whose processor sends events over HTTP.
type Receiver interface {
	// Events returns the handler that verifies and receives the events.
	Events() http.Handler
}
