package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reasons why a payment was not made.
var (
	// ErrTooExpensive: the price exceeds MaxPriceMicros or [WithMaxPrice].
	ErrTooExpensive = errors.New("the price is above the agent's limit")
	// ErrBudget: the price exceeds what is left of BudgetMicros or of the mandate's
	// limits, or the mandate is no longer active.
	ErrBudget = errors.New("the price is above what is left to spend")
	// ErrVelocity: the payment exceeds a [VelocityLimit].
	ErrVelocity = errors.New("the agent exceeds its velocity limit")
	// ErrNotApproved: Approve refused.
	ErrNotApproved = errors.New("the payment was not approved")
	// ErrNoMethod: no offered payment method is usable.
	ErrNoMethod = errors.New("no offered payment method is usable")
	// ErrBodyTooLarge: the body exceeds [MaxBody] and cannot be repeated.
	ErrBodyTooLarge = errors.New("the body is too large to be repeated with a payment")
	// ErrInsecure: the URL is neither https nor on the loopback interface.
	ErrInsecure = errors.New("refusing to pay over plain HTTP")
	// ErrPaidBefore: an earlier request of this chain of redirects was paid.
	ErrPaidBefore = errors.New("a paid request was redirected to another paywall")
	// ErrAnswerLost: the seller redeemed the payment for a response that was not received.
	// It comes with an [UndecidedError].
	ErrAnswerLost = errors.New("the seller redeemed this payment, and the response is lost")
	// ErrTooLarge: a response exceeds [MaxFetch].
	ErrTooLarge = errors.New("the response is too large")
)

// PaymentError reports a payment that was not made. It matches its Reason with errors.Is.
type PaymentError struct {
	// Reason wraps one of the errors above, or an error of the service or the wallet.
	Reason error
	// URL is the requested address without its query.
	URL string
	// Offers are the offers that were understood. It may be empty.
	Offers []Offer
	// Dropped are the offers that were not used, each with its reason.
	Dropped []Dropped
}

// shownReasons is the maximum number of reasons in the text of a [PaymentError].
const shownReasons = 8

// Error returns the reason with the offers that it is about, and the other offers that were
// not used with theirs.
func (e *PaymentError) Error() string {
	reason := fmt.Sprint(e.Reason)
	text := fmt.Sprintf("agent: pay for %s: %s", e.URL, reason)
	var same, reasons []string
	for i, d := range e.Dropped {
		switch {
		case i >= shownReasons:
		case d.Reason == reason:
			same = append(same, d.offer())
		default:
			reasons = append(reasons, d.String())
		}
	}
	if len(same) > 0 {
		reasons = slices.Insert(reasons, 0, "for "+strings.Join(same, " and "))
	}
	if more := len(e.Dropped) - shownReasons; more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, "; ") + ")"
	}
	return text
}

// Unwrap returns the reason.
func (e *PaymentError) Unwrap() error { return e.Reason }

// UndecidedError reports a request that was sent with a payment and got no response: the
// payment may have been made, and the request may have been carried out. The credential
// is kept. The same request (method, URL and body) sends it again instead of paying a
// second time.
//
// If the seller then answers that the payment was redeemed before, the error matches
// [ErrAnswerLost]: the request was paid and served, and its response is lost. A safe
// request, such as a GET, is paid again if it is repeated after that. Any other request
// returns this error without being sent until Until, unless [WithNewPurchase] allows a
// second payment.
type UndecidedError struct {
	// URL is the requested address without its query.
	URL string
	// Method is the payment method that was used.
	Method Method
	// AmountMicros is the price, in millionths of a US dollar.
	AmountMicros int64
	// Until is when the credential is no longer kept. It is zero if it is not kept.
	Until time.Time
	// Receipt is the payment if the seller redeemed it ([ErrAnswerLost]), and nil
	// otherwise. Its Transaction is often empty.
	Receipt *Receipt
	// Err is the reason why there is no response.
	Err error
}

// Error returns what was paid, what is unknown, and why.
func (e *UndecidedError) Error() string {
	if errors.Is(e.Err, ErrAnswerLost) || errors.Is(e.Err, ErrOutcomeUnknown) {
		next := "the same request is paid again"
		if !e.Until.IsZero() {
			next = fmt.Sprintf("until %s the same request is refused", e.Until.UTC().Format(time.RFC3339))
		}
		return fmt.Sprintf("agent: %s received a payment of %s USD by %s: %v; %s", e.URL, usd(e.AmountMicros), e.Method, e.Err, next)
	}
	return fmt.Sprintf("agent: %s received a payment of %s USD by %s and did not respond: %v; until %s the same request sends the same payment",
		e.URL, usd(e.AmountMicros), e.Method, e.Err, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns the reason why there is no response.
func (e *UndecidedError) Unwrap() error { return e.Err }

// Timeout reports whether the response did not arrive in time.
func (e *UndecidedError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
