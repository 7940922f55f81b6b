package client

import (
	"context"
	"errors"
	"net/url"
	"strings"
)

const (
	// redacted stands where a secret was.
	redacted = "[redacted]"
	// minSecret is the length in bytes from which a value is looked for: replacing
	// shorter ones would garble the text, and hide nothing.
	minSecret = 8
)

// redactor takes the secrets of one call out of texts. The service does not
// repeat them, but a proxy, or a transport of the caller's, may.
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

// transport makes the error of a call that got no answer.
func (r redactor) transport(err error) error {
	return &transportError{text: r.clean(err.Error()), cause: err}
}

// withoutURL drops the *url.Error that net/http puts around its errors, because
// it prints the URL and so the token in its path.
func withoutURL(err error) error {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err
	}
	return err
}

// transportError says that no answer came. It can be compared with what caused
// it, but does not hand the cause out: its text may hold the URL.
type transportError struct {
	text  string
	cause error
}

func (e *transportError) Error() string { return e.text }

// Is tells whether the cause is target: context.Canceled, syscall.ECONNREFUSED …
func (e *transportError) Is(target error) bool { return errors.Is(e.cause, target) }

// Timeout tells whether the answer did not come in time; net.Error has it too.
func (e *transportError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.Is(e.cause, context.DeadlineExceeded) || errors.As(e.cause, &t) && t.Timeout()
}

// Temporary makes a transportError a net.Error.
func (e *transportError) Temporary() bool { return e.Timeout() }
