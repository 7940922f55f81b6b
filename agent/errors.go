package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reasons why a payment was not made.
var (
	// ErrTooExpensive: the price is above MaxPriceMicros or [WithMaxPrice].
	ErrTooExpensive = errors.New("the price is above the agent's limit")
	// ErrBudget: BudgetMicros or the limits of the mandate are too low for the
	// price, or the mandate is over.
	ErrBudget = errors.New("the price is above what is left to spend")
	// ErrVelocity: too many payments, or too much money, in a window.
	ErrVelocity = errors.New("the agent spends too fast")
	// ErrNotApproved: Approve refused.
	ErrNotApproved = errors.New("the payment was not approved")
	// ErrNoWay: no offered way to pay can be used.
	ErrNoWay = errors.New("no offered way to pay can be used")
	// ErrBodyTooLarge: the request cannot be sent twice.
	ErrBodyTooLarge = errors.New("the body is too large to be sent again with a payment")
	// ErrInsecure: the address is neither https nor on the loopback interface.
	ErrInsecure = errors.New("refusing to pay over plain HTTP")
	// ErrPaidBefore: an earlier request of this chain of redirects was paid.
	ErrPaidBefore = errors.New("a redirect of a paid request asks for money again")
	// ErrTooLarge: an answer is longer than a fetch takes.
	ErrTooLarge = errors.New("the answer is too large")
)

// PaymentError reports a payment that was not made. It matches its Reason by errors.Is.
type PaymentError struct {
	// Reason wraps one of the errors above, or an error of the service or the wallet.
	Reason error
	// URL is the address asked, without query.
	URL string
	// Offers are the ways to pay that were understood; may be empty.
	Offers []Offer
	// Dropped are the offers that were not used, each with its reason.
	Dropped []Dropped
}

// shownReasons is the number of reasons in the text of a [PaymentError].
const shownReasons = 8

// Error returns the reason, and that of every offer that was not used.
func (e *PaymentError) Error() string {
	text := fmt.Sprintf("agent: pay for %s: %v", e.URL, e.Reason)
	var reasons []string
	for i, d := range e.Dropped {
		if i == shownReasons {
			reasons = append(reasons, fmt.Sprintf("and %d more", len(e.Dropped)-i))
			break
		}
		reasons = append(reasons, d.String())
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, "; ") + ")"
	}
	return text
}

// Unwrap returns the reason.
func (e *PaymentError) Unwrap() error { return e.Reason }

// UndecidedError reports a request that was sent with a payment and not answered:
// the payment may have been made, and the request may have been carried out. The
// credential is kept. The same request (method, URL and body) sends it again
// instead of paying a second time.
type UndecidedError struct {
	// URL is the address asked, without query.
	URL string
	// Way and AmountMicros are what was sent.
	Way          Way
	AmountMicros int64
	// Until is how long the credential is kept.
	Until time.Time
	// Err is why there is no answer.
	Err error
}

// Error returns what is not known, and why.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("agent: %s was sent a payment of %s USD by %s and did not answer; the same request sends the same payment until %s: %v",
		e.URL, usd(e.AmountMicros), e.Way, e.Until.UTC().Format(time.RFC3339), e.Err)
}

// Unwrap returns why there is no answer.
func (e *UndecidedError) Unwrap() error { return e.Err }

// Timeout reports whether the answer did not come in time.
func (e *UndecidedError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
