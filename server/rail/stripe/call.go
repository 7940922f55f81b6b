package stripe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/internal/sleep"
)

// problem is the part of an error of the API that may be logged: neither the message, which
// may quote the request, nor the intent, which has a secret.
type problem struct {
	status                       int
	kind, code, param, requestID string
	cause                        *api.Error
}

func (p *problem) Error() string {
	return fmt.Sprintf("the processor answered status %d (type %q, code %q, parameter %q, request %q)", p.status, p.kind, p.code, p.param, p.requestID)
}

// safe replaces an error by one that may be logged. The text of the original may quote the
// answer, in which an intent has its secret.
func safe(err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return &problem{
			status: e.HTTPStatusCode, kind: string(e.Type), code: string(e.Code), param: e.Param, requestID: e.RequestID, cause: e,
		}
	}
	for _, known := range []error{errTooMany, context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &network):
		return network
	}
	return errUnreadable
}

// errUnreadable reports an answer that is not what the API returns, or a connection that
// broke in another way than those that safe names.
var errUnreadable = errors.New("no readable answer of the processor")

func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return &problem{}
}

// declined reports whether the card was declined.
func declined(err error) bool { return problemOf(err).kind == string(api.ErrorTypeCard) }

// reused reports whether a key was used before with other parameters.
func reused(err error) bool {
	p := problemOf(err)
	return p.kind == string(api.ErrorTypeIdempotency) && p.code != string(api.ErrorCodeIdempotencyKeyInUse)
}

// missing reports whether an object does not exist.
func missing(err error) bool { return problemOf(err).code == string(api.ErrorCodeResourceMissing) }

// invalid reports whether Stripe will never accept the request as it is, in the state in
// which its objects are.
func invalid(err error) bool {
	p := problemOf(err)
	return p.kind == string(api.ErrorTypeInvalidRequest) && !busy(err) && (p.status == http.StatusBadRequest || p.status == http.StatusNotFound)
}

// busy reports whether a request was not executed because of another one, or of too many.
func busy(err error) bool {
	p := problemOf(err)
	return p.status == http.StatusTooManyRequests || p.code == string(api.ErrorCodeIdempotencyKeyInUse) || p.code == string(api.ErrorCodeLockTimeout) ||
		(p.status == http.StatusConflict && !reused(err))
}

// unanswered reports whether the outcome of a request is unknown.
func unanswered(err error) bool {
	p := problemOf(err)
	return err != nil && !errors.Is(err, errTooMany) && (p.status == 0 || p.status >= 500)
}

const (
	// maxKeys is the number of keys that a request can use up by stored answers.
	maxKeys = 5
	// maxRepeats is how often an unanswered request is repeated in one call of the rail.
	maxRepeats = 2
	// firstPause is the pause before the first repetition. It doubles up to maxPause.
	firstPause, maxPause = 50 * time.Millisecond, time.Second
)

// replayed reports whether an answer was stored for the key by an earlier request, so that
// its content may be out of date.
func replayed(last *api.APIResponse) bool {
	return last != nil && last.Header.Get("Idempotent-Replayed") == "true"
}

// stored reports whether an error is that of an earlier request with the key. Stripe answers
// every later one in the same way, for a day.
func stored(err error) bool {
	p := problemOf(err)
	return p.cause != nil && replayed(p.cause.LastResponse)
}

// storedFailure reports whether an earlier request with the key failed at Stripe.
func storedFailure(err error) bool { return problemOf(err).status >= 500 && stored(err) }

// again calls until the answer is not that the processor is busy, and a few times if there
// is no answer.
func again[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	pause := firstPause
	for repeats := 0; ; {
		out, err := call(ctx)
		err = safe(err)
		if err != nil && unanswered(err) && !storedFailure(err) {
			repeats++
		}
		if err == nil || storedFailure(err) || ctx.Err() != nil || repeats > maxRepeats || (!busy(err) && !unanswered(err)) {
			return out, err
		}
		if sleep.For(ctx, pause) != nil {
			return out, err
		}
		pause = min(2*pause, maxPause)
	}
}

// keyed makes a request with an idempotency key. If a failure of Stripe is stored for the
// key, it calls between, and takes the next key if that returns false.
func keyed[T any](ctx context.Context, key string, call func(ctx context.Context, key string) (T, error), between func(context.Context) (T, bool, error)) (T, error) {
	out, _, err := keyedFrom(ctx, key, 1, call, between)
	return out, err
}

// keyedFrom is keyed, beginning with the n-th key. It also returns the number of the last key.
func keyedFrom[T any](
	ctx context.Context, key string, n int, call func(ctx context.Context, key string) (T, error), between func(context.Context) (T, bool, error),
) (T, int, error) {
	for ; ; n++ {
		this := key
		if n > 1 {
			this += "." + strconv.Itoa(n)
		}
		out, err := again(ctx, func(ctx context.Context) (T, error) { return call(ctx, this) })
		if !storedFailure(err) || n >= maxKeys {
			return out, n, err
		}
		found, enough, e := between(ctx)
		if e != nil || enough {
			return found, n, e
		}
	}
}

// never is for keyed: there is nothing to look for between two keys.
func never[T any](context.Context) (none T, enough bool, err error) { return none, false, nil }
