package client

import (
	"context"
	"errors"
	"net/url"
	"strings"
)

const (
	// redacted replaces a secret.
	redacted = "[redacted]"
	// minSecret is the minimum length of a value that is searched for, in bytes. Replacing
	// shorter ones would garble the text.
	minSecret = 8
)

// redactor removes the secrets of one call from texts. The service does not repeat
// them, but a proxy or the caller's own transport may.
type redactor struct{ secrets []string }

func (r redactor) clean(s string) string {
	for _, secret := range r.secrets {
		if len(secret) >= minSecret {
			s = strings.ReplaceAll(s, secret, redacted)
		}
	}
	return s
}

func (r redactor) cleanError(e *Error) {
	e.Message, e.Param = r.clean(e.Message), r.clean(e.Param)
	e.RequestID, e.DocURL = r.clean(e.RequestID), r.clean(e.DocURL)
	e.Code = Code(r.clean(string(e.Code)))
}

// transport returns the error of an attempt that got no response.
func (r redactor) transport(err error) error {
	return &transportError{text: r.clean(err.Error()), cause: err}
}

// withoutURL removes the *url.Error that net/http adds, because it prints the URL and
// so the token in its path.
func withoutURL(err error) error {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err
	}
	return err
}

// transportError reports that no response arrived. It can be compared with its cause
// but does not unwrap to it, because the cause's text may contain the URL.
type transportError struct {
	text  string
	cause error
}

func (e *transportError) Error() string { return e.text }

// Is reports whether the cause is target, such as context.Canceled or syscall.ECONNREFUSED.
func (e *transportError) Is(target error) bool { return errors.Is(e.cause, target) }

// Timeout reports whether the response did not arrive in time. It implements net.Error.
func (e *transportError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.Is(e.cause, context.DeadlineExceeded) || errors.As(e.cause, &t) && t.Timeout()
}

// Temporary implements net.Error.
func (e *transportError) Temporary() bool { return e.Timeout() }
