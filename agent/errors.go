package agent

import (
	"errors"
	"fmt"
)

// Why a payment was not made.
var (
	// ErrTooExpensive: every way costs more than MaxPriceMicros.
	ErrTooExpensive = errors.New("the price is above the agent's limit")
	// ErrBudget: the mandate is over, or its limits leave no room for the price.
	ErrBudget = errors.New("the mandate leaves no room for the price")
	// ErrVelocity: too many payments, or too much money, in a window.
	ErrVelocity = errors.New("the agent spends too fast")
	// ErrNotApproved: Approve refused.
	ErrNotApproved = errors.New("the payment was not approved")
	// ErrNoWay: no way to pay is both offered and configured.
	ErrNoWay = errors.New("no way to pay that is offered can be used")
	// ErrBodyTooLarge: the request cannot be sent twice.
	ErrBodyTooLarge = errors.New("the body is too large to be sent again with a payment")
	// ErrInsecure: the address is neither https nor on the loopback interface.
	ErrInsecure = errors.New("payments go to https alone")
	// ErrPaidBefore: an earlier stop of this chain of redirects was paid.
	ErrPaidBefore = errors.New("a redirect of what was paid asks for money again")
	// ErrTooLarge: an answer is longer than a fetch takes.
	ErrTooLarge = errors.New("the answer is too large")
)

// PaymentError is a payment that was not made. It matches its Reason by errors.Is.
type PaymentError struct {
	// Reason is one of the errors above, or an error of the service or the wallet.
	Reason error
	// URL is what was asked for, without query.
	URL string
	// Offers are the ways to pay that were understood; may be empty.
	Offers []Offer
	// Detail says more; may be empty.
	Detail string
}

// Error tells what was not paid, and why.
func (e *PaymentError) Error() string {
	text := fmt.Sprintf("agent: pay for %s: %v", e.URL, e.Reason)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Unwrap gives the reason.
func (e *PaymentError) Unwrap() error { return e.Reason }
