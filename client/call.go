package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sleep"
)

// maxPathValue limits an id or token in a path, in bytes.
const maxPathValue = 16 << 10

// call is one call of the API, with all its attempts.
type call struct {
	doing   string // for errors: "charge mandate"
	method  string
	pattern string // as the API documents it; logs show it instead of the path
	value   string // replaces the first {parameter} of the pattern
	second  string // replaces the second one
	query   url.Values
	body    any      // nil: none
	secrets []string // removed from errors and logs, besides the credentials
	// idempotent reports whether the call can be repeated without harm.
	idempotent bool
	// key is the idempotency key. Only calls that move money have one.
	key string
}

// do makes the call and decodes the response. Whole reports whether the response has
// the required fields: any server can answer 200 and {}. Errors are those of [Client.run].
func do[Out any](ctx context.Context, c *Client, k call, whole func(*Out, answer) bool) (Out, error) {
	var out Out
	err := c.run(ctx, &k, func(a answer) bool {
		var read Out
		if json.Unmarshal(a.body, &read) != nil || !whole(&read, a) {
			return false
		}
		out = read
		return true
	})
	return out, err
}

// run makes attempts until one gets a final response, none is left, or ctx is done. It
// returns an *Error, a *transportError or ctx's error, wrapped in an
// *UnknownOutcomeError if money may have moved, and names the operation.
func (c *Client) run(ctx context.Context, k *call, take func(answer) bool) error {
	w, err := c.prepare(k)
	if err != nil {
		return fmt.Errorf("client: %s: %w", k.doing, err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("client: %s: %w", k.doing, err)
	}
	var doubt error // of the last attempt that may have done the work
	waited := 0     // for an earlier attempt that the service still works on
	for attempt := 1; ; attempt++ {
		res := c.attempt(ctx, k, w, attempt, take)
		switch {
		case res.err == nil:
			return nil
		case res.effect == decided:
			doubt = nil
		case res.effect == unknown:
			doubt = res.err
		}
		if res.inProgress() && waited < maxWaits {
			waited++
		}
		if attempt-waited > c.maxRetries || c.maxRetries == 0 || ctx.Err() != nil || !k.mayRepeat(res) {
			return k.failed(res.err, doubt)
		}
		wait, ok := pause(ctx, attempt, res.retryAfter)
		if !ok {
			return k.failed(res.err, doubt)
		}
		if err := sleep.For(ctx, wait); err != nil {
			return k.failed(whileWaiting(err, res.err), whileWaiting(err, doubt))
		}
	}
}

// failed returns the error of a call whose last attempt ended with err. If the outcome
// is unknown, the error reports doubt instead of err.
func (k *call) failed(err, doubt error) error {
	if k.key != "" && doubt != nil {
		err = &UnknownOutcomeError{IdempotencyKey: k.key, Err: doubt}
	}
	return fmt.Errorf("client: %s: %w", k.doing, err)
}

func whileWaiting(stopped, last error) error {
	if last == nil {
		return nil
	}
	return fmt.Errorf("%w, while waiting to try again after: %w", stopped, last)
}

// prepared is what all attempts of a call send, byte for byte: a retry with a
// different body would be refused as an idempotency mismatch.
type prepared struct {
	url    string
	body   []byte
	secret redactor
}

func (c *Client) prepare(k *call) (prepared, error) {
	path, err := k.path()
	if err != nil {
		return prepared{}, err
	}
	w := prepared{url: c.baseURL + path, secret: redactor{append(k.secrets, c.apiKey(), c.token())}}
	if len(k.query) > 0 {
		w.url += "?" + k.query.Encode()
	}
	if k.body == nil {
		return w, nil
	}
	if w.body, err = json.Marshal(k.body); err != nil {
		return prepared{}, invalid("", "cannot be written as JSON")
	}
	return w, nil
}

// path puts the values into the pattern. It refuses a value that would change the path
// ("..", "a/b", "a?b"), because the service would receive a different call.
func (k *call) path() (string, error) {
	path, rest := "", k.pattern
	for _, value := range []string{k.value, k.second} {
		before, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		name, after, _ := strings.Cut(after, "}")
		switch {
		case value == "":
			return "", invalid(name, "is required")
		case len(value) > maxPathValue:
			return "", invalid(name, "is too long")
		case strings.Trim(value, ".") == "" || strings.ContainsFunc(value, reserved):
			return "", invalid(name, "is not an id or token")
		}
		path, rest = path+before+value, after
	}
	return path + rest, nil
}

// reserved reports whether r is outside the unreserved characters of RFC 3986,
// section 2.3. All ids and tokens consist of unreserved characters.
func reserved(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~", r)
}

// invalid returns the error of a call that is refused before anything is sent.
func invalid(param, message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeValidation, Param: param, Message: message}
}
