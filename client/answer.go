package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/retryafter"
)

// CodeUnexpectedAnswer is the code of a response that is not the service's: a proxy's
// page, a redirect, a truncated or oversized body. The service never sends it.
const CodeUnexpectedAnswer Code = "unexpected_answer"

// ErrUnexpectedAnswer matches errors with [CodeUnexpectedAnswer]. It is not part of
// [Errors], which lists the service's codes.
var ErrUnexpectedAnswer = &Error{Code: CodeUnexpectedAnswer, Status: http.StatusBadGateway}

// maxRetryAfterRead caps the value read from Retry-After.
const maxRetryAfterRead = 24 * time.Hour

// maxRefusal limits the body of an error, in bytes, because its message is logged.
const maxRefusal = 16 << 10

// maxRequestID limits the request id taken from a header, in bytes.
const maxRequestID = 64

// answer is the response to one attempt.
type answer struct {
	status int
	header http.Header
	body   []byte
	// oversized reports whether the body was longer than what was read.
	oversized bool
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

func (a answer) requestID() string {
	id := a.header.Get("X-Request-Id")
	return id[:min(len(id), maxRequestID)]
}

// refusal returns the error of a response that is not 2xx. Genuine reports whether the
// service itself sent it; otherwise the code is derived from the status, and the error
// contains nothing of the body.
func (a answer) refusal() (e *Error, genuine bool) {
	e = &Error{}
	if a.status < 400 || len(a.body) > maxRefusal || json.Unmarshal(a.body, e) != nil || e.Code == "" {
		e = a.foreign()
	} else {
		genuine = true
	}
	e.Status = a.status
	e.RetryAfter = retryafter.Read(a.header.Get("Retry-After"), maxRetryAfterRead)
	if e.RequestID == "" {
		e.RequestID = a.requestID()
	}
	return e, genuine
}

// foreign derives an error from the status alone. It never returns a code about a
// mandate, a charge or an object, because a proxy's 403 or 404 is not about those.
func (a answer) foreign() *Error {
	switch {
	case a.status == http.StatusTooManyRequests:
		return &Error{Code: CodeRateLimited, Message: "answered 429 without the service's error body"}
	case a.status == http.StatusRequestEntityTooLarge:
		return &Error{Code: CodePayloadTooLarge, Message: "answered 413 without the service's error body"}
	case a.status >= 500:
		return &Error{Code: CodeUnavailable, Message: "answered " + strconv.Itoa(a.status) + " without the service's error body"}
	case a.status >= 300 && a.status < 400:
		return &Error{Code: CodeUnexpectedAnswer, Message: "answered with a redirect, which is not followed: check Config.BaseURL"}
	default:
		return &Error{Code: CodeUnexpectedAnswer, Message: "answered " + strconv.Itoa(a.status) + ", but not by the service: check Config.BaseURL and proxies"}
	}
}

// unreadable is the error of a 2xx response that lacks what it must contain.
func (a answer) unreadable() *Error {
	message := "the answer is torn or not the service's"
	if a.oversized {
		message = "the answer is larger than 1 MiB"
	}
	return &Error{Status: a.status, Code: CodeUnexpectedAnswer, Message: message, RequestID: a.requestID()}
}
