package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	api "github.com/stripe/stripe-go/v84"
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

// safe replaces the API's errors by those that may be logged.
func safe(err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return err
	}
	return &problem{
		status: e.HTTPStatusCode, kind: string(e.Type), code: string(e.Code), param: e.Param, requestID: e.RequestID, cause: e,
	}
}

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
	return err != nil && (p.status == 0 || p.status >= 500)
}

const (
	// maxKeys is the number of keys that a request can use up by stored failures.
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

// storedFailure reports whether an earlier request with the key failed at Stripe, which
// answers every later one in the same way.
func storedFailure(err error) bool {
	p := problemOf(err)
	return p.status >= 500 && p.cause != nil && replayed(p.cause.LastResponse)
}

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
		if sleep(ctx, pause) != nil {
			return out, err
		}
		pause = min(2*pause, maxPause)
	}
}

// keyed makes a request with an idempotency key. If a failure is stored for the key, it
// calls between, and takes the next key if that returns false.
func keyed[T any](ctx context.Context, key string, call func(ctx context.Context, key string) (T, error), between func(context.Context) (T, bool, error)) (T, error) {
	for n := 1; ; n++ {
		this := key
		if n > 1 {
			this += "." + strconv.Itoa(n)
		}
		out, err := again(ctx, func(ctx context.Context) (T, error) { return call(ctx, this) })
		if !storedFailure(err) || n == maxKeys {
			return out, err
		}
		found, enough, e := between(ctx)
		if e != nil || enough {
			return found, e
		}
	}
}

// never is for keyed: there is nothing to look for between two keys.
func never[T any](context.Context) (none T, enough bool, err error) { return none, false, nil }

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
