package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/retryafter"
)

// CodeUnexpectedAnswer is the code of an answer that is not the service's: a page
// of a proxy, a redirect, a body that is torn or too large. The service never sends it.
const CodeUnexpectedAnswer Code = "unexpected_answer"

// ErrUnexpectedAnswer matches errors of [CodeUnexpectedAnswer]. It is not among
// [Errors], which are the service's.
var ErrUnexpectedAnswer = &Error{Code: CodeUnexpectedAnswer, Status: http.StatusBadGateway}

// maxRetryAfterRead bounds what Retry-After is read as: more says nothing more.
const maxRetryAfterRead = 24 * time.Hour

// maxRefusal bounds the body of an error, in bytes: its message ends up in logs.
const maxRefusal = 16 << 10

// maxRequestID bounds the request id taken from a header, in bytes.
const maxRequestID = 64

// answer is what came back to one attempt.
type answer struct {
	status int
	header http.Header
	body   []byte
	// oversized tells that the body went on beyond what is read.
	oversized bool
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

func (a answer) requestID() string {
	id := a.header.Get("X-Request-Id")
	return id[:min(len(id), maxRequestID)]
}

// refusal reads an answer that is not 2xx. Genuine tells that the service itself
// has spoken; otherwise the code comes from the status, and nothing of the body is told.
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

// foreign derives an error from the status alone. Codes that speak of a mandate,
// a charge or an object are left out on purpose: a proxy's 403 or 404 knows nothing of them.
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

// unreadable is the error of a 2xx answer that does not hold what it must.
func (a answer) unreadable() *Error {
	message := "the answer is torn or not the service's"
	if a.oversized {
		message = "the answer is larger than 1 MiB"
	}
	return &Error{Status: a.status, Code: CodeUnexpectedAnswer, Message: message, RequestID: a.requestID()}
}
