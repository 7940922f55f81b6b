package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/internal/sleep"
)

// longestWait caps the value read from Retry-After.
const longestWait = 24 * time.Hour

// resend sends the credential that an earlier request of this kind left behind. It
// returns nil if there is none, or if the seller no longer accepts it although nothing
// was lost: the request is then one that was not paid.
func (v *visit) resend() (*http.Response, error) {
	key, err := v.requestKey()
	if err != nil {
		return nil, err
	}
	c, err := v.takeKept(key)
	if c == nil {
		return nil, err
	}
	resp, found, _, err := v.pay(c)
	if err == nil && (found == refused || found == spent) {
		discard(resp)
		return nil, nil
	}
	return resp, err
}

// pay sends the request with a kept credential, and once more with the same one if the
// response was lost or has a Retry-After. It returns the verdict of the response and the
// seller's reason.
func (v *visit) pay(c *credential) (*http.Response, verdict, string, error) {
	ctx := v.request.Context()
	attrs := []any{slog.String("url", shown(v.request.URL)), slog.String("method", string(c.offer.Method)), slog.String("price", c.offer.Price())}
	before, lost := c.last, false // lost: the response to an earlier attempt
	// An earlier attempt may have had no response. An order is not made again by itself.
	broke := before == unanswered && (c.restored || !isSafe(v.request.Method))
	c.last = unanswered
	resp, err := v.send(c)
	if v.again(resp, err) {
		broke = broke || err != nil
		if lost = err != nil || undecided(resp.StatusCode); lost {
			before = unanswered
		}
		if resp != nil {
			discard(resp)
		}
		resp, err = v.send(c)
	}
	if err != nil {
		until := v.release(c, v.cfg.Clock().Add(unfulfilledLife))
		v.cfg.Logger.WarnContext(ctx, "agent: a payment was not answered", attrs...)
		return nil, open, "", &UndecidedError{
			URL: shown(v.request.URL), Method: c.offer.Method, AmountMicros: c.offer.AmountMicros, Until: until, Err: err,
		}
	}
	resp.Request = v.request.WithContext(context.WithValue(ctx, paidKey{}, c))
	found, why := judge(resp)
	if found == refused && broke { // this attempt moved no money, but the other one may have
		found = open
	}
	v.confirmed(c, resp)
	switch {
	case found == spent && (isLost(before, why) || (c.keyed() && before != unsent)):
		v.cfg.Logger.WarnContext(ctx, "agent: a payment was redeemed and its response is lost", append(attrs, slog.String("reason", why))...)
		return nil, spent, why, v.answerLost(resp, c, why)
	case found == spent && before == answered:
		v.finish(c, PurchaseDelivered, nil)
	case found == refused, found == spent:
		v.finish(c, PurchaseRefused, nil)
	default:
		v.deliver(resp, c, lost)
	}
	if receipt, ok := receiptOf(resp, c); ok {
		v.record(c, receipt)
	}
	attrs = append(attrs, slog.Int("status", resp.StatusCode))
	if found == accepted {
		v.cfg.Logger.InfoContext(ctx, "agent: paid", attrs...)
	} else {
		v.cfg.Logger.WarnContext(ctx, "agent: the seller asks for payment again", append(attrs, slog.String("reason", why))...)
	}
	return resp, found, why, nil
}

// record calls OnPaid for the first receipt of a payment, and stores the receipt for
// [Client.Fetch].
func (v *visit) record(c *credential, receipt Receipt) {
	ctx := v.request.Context()
	if log, ok := ctx.Value(receiptsKey{}).(*receipts); ok {
		log.add(receipt)
	}
	if v.cfg.OnPaid != nil && c.reported.CompareAndSwap(false, true) {
		v.cfg.OnPaid(ctx, shown(v.request.URL), receipt)
	}
}

// unpaid logs why a payment was not made, and returns err.
func (v *visit) unpaid(err error) error {
	var undecided *UndecidedError
	if !errors.As(err, &undecided) {
		v.cfg.Logger.InfoContext(v.request.Context(), "agent: not paid", slog.String("url", shown(v.request.URL)), slog.String("reason", err.Error()))
	}
	return err
}

// again reports whether to send the same credential once more, after it has waited for
// Retry-After. After a lost response it repeats only requests that are safe to repeat;
// after a response only if it has a Retry-After.
func (v *visit) again(resp *http.Response, err error) bool {
	ctx := v.request.Context()
	if err != nil {
		return repeatable(v.request) && ctx.Err() == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	switch resp.StatusCode {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	case http.StatusBadGateway, http.StatusGatewayTimeout: // the server behind may have carried out the request
		if !repeatable(v.request) {
			return false
		}
	default:
		return false
	}
	value := resp.Header.Get("Retry-After")
	wait := retryafter.Read(value, longestWait)
	if wait > v.cfg.MaxWait || (wait == 0 && value != "0") {
		return false
	}
	return sleep.For(ctx, wait) == nil
}

// repeatable reports whether a request may be carried out twice: its method is
// idempotent, or its caller set an idempotency key (RFC 9110 §9.2.2).
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete, "":
		return true
	}
	return r.Header.Get(HeaderIdempotencyKey) != "" || r.Header.Get("X-Idempotency-Key") != ""
}
