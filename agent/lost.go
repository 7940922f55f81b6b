package agent

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// otherPayment is the reason of a seller for which a credential pays something else: it
// was used for that, or the price has changed since the challenge.
const otherPayment = "credential_for_another_payment"

// outcome is what the caller received after the last sending of a credential.
type outcome int

const (
	// unsent: the credential was not sent yet.
	unsent outcome = iota
	// unanswered: no response, one that did not serve the request, or a broken one.
	unanswered
	// answered: a status below 400, even if the caller did not read the body to the end.
	answered
)

// isLost reports whether a spent credential paid for a response that the caller did not
// receive. The sending before this one had the outcome before.
func isLost(before outcome, why string) bool {
	return before == unanswered || (before == unsent && why != otherPayment)
}

// answerLost returns the error of a credential that was redeemed for a lost response. A
// safe request may be paid again after this error. Any other request fails until the
// credential expires, so that a caller that repeats it on every error pays once.
func (v *visit) answerLost(resp *http.Response, c *credential, why string) error {
	discard(resp)
	lost := &UndecidedError{
		URL: shown(v.request.URL), Method: c.offer.Method, AmountMicros: c.offer.AmountMicros, Err: fmt.Errorf("%w: %s", ErrAnswerLost, why),
	}
	if why != otherPayment {
		receipt := readReceipt(resp, c)
		lost.Receipt = &receipt
		v.record(c, receipt)
	}
	switch {
	case c.entry != nil:
		return v.journalLost(c, lost)
	case isSafe(v.request.Method):
		v.kept.drop(c)
		return lost
	}
	kept := *lost // not shared with the caller, nor changed once the credential is free
	c.lost = &kept
	lost.Until = v.kept.release(c, v.cfg.Clock().Add(unfulfilledLife))
	return lost
}

// journalLost records a lost response in the journal.
func (v *visit) journalLost(c *credential, lost *UndecidedError) error {
	e := c.entry
	e.State, e.Credential, e.Until = PurchaseLost, nil, e.At.Add(unfulfilledLife)
	if e.Receipt == nil {
		e.Receipt = lost.Receipt
	}
	switch lost.Receipt = e.Receipt; {
	case e.Key != "":
		lost.Until = e.ForgetAfter
	case isSafe(v.request.Method):
		e.Until = time.Time{}
	default:
		lost.Until = e.Until
	}
	v.journal(v.request.Context(), e, true)
	return lost
}

// takeKept returns the credential that the request must send, or nil. It returns an
// [*UndecidedError] if that credential was redeemed for a lost response.
func (v *visit) takeKept(key requestKey) (*credential, error) {
	if v.cfg.Journal != nil {
		return v.takeJournaled(key)
	}
	for {
		c := v.kept.take(key, v.cfg.Clock())
		if c == nil || c.lost == nil {
			return c, nil
		}
		if again, _ := v.request.Context().Value(newPurchaseKey{}).(bool); again {
			v.kept.drop(c)
			continue
		}
		lost := *c.lost
		lost.Until = v.kept.release(c, v.cfg.Clock())
		return nil, &lost
	}
}

// isSafe reports whether a method only retrieves (RFC 9110 §9.2.1).
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "":
		return true
	}
	return false
}

type newPurchaseKey struct{}

// WithNewPurchase returns a context that allows a request to be paid again after an
// [ErrAnswerLost]. It has no effect on a payment that the seller may still honor.
func WithNewPurchase(ctx context.Context) context.Context {
	return context.WithValue(ctx, newPurchaseKey{}, true)
}
