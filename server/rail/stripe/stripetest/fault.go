package stripetest

import (
	"net/http"
)

// Fault is what goes wrong with a request.
type Fault int

// The faults.
const (
	None                    Fault = iota
	ResetBefore                   // the connection breaks; nothing was executed
	ResetAfter                    // the connection breaks after the execution
	FailBefore                    // 503 from a proxy; nothing was executed
	FailAfter                     // 502 from a proxy after the execution
	HangBefore                    // no answer until the caller gives up; nothing was executed
	HangAfter                     // the same after the execution
	StoredFailure                 // 500, which Stripe stores for the key; nothing was executed
	StoredFailureWithEffect       // the same, but the request was executed
	TooMany                       // 429
)

// Faults are all faults.
func Faults() []Fault {
	return []Fault{ResetBefore, ResetAfter, FailBefore, FailAfter, HangBefore, HangAfter, StoredFailure, StoredFailureWithEffect, TooMany}
}

// String returns the name of a fault.
func (f Fault) String() string {
	return [...]string{
		"None", "ResetBefore", "ResetAfter", "FailBefore", "FailAfter", "HangBefore", "HangAfter", "StoredFailure", "StoredFailureWithEffect", "TooMany",
	}[f]
}

// before reports whether a fault ended a request before its execution.
func (f Fault) before(w http.ResponseWriter, r *http.Request) bool {
	switch f {
	case ResetBefore:
		panic(http.ErrAbortHandler)
	case FailBefore:
		w.WriteHeader(http.StatusServiceUnavailable)
	case HangBefore:
		<-r.Context().Done()
	case TooMany:
		answer(w, failure(http.StatusTooManyRequests, "invalid_request_error", "rate_limit", ""), false)
	default:
		return false
	}
	return true
}

// after reports whether a fault lost the answer.
func (f Fault) after(w http.ResponseWriter, r *http.Request) bool {
	switch f {
	case ResetAfter:
		panic(http.ErrAbortHandler)
	case FailAfter:
		w.WriteHeader(http.StatusBadGateway)
	case HangAfter:
		<-r.Context().Done()
	default:
		return false
	}
	return true
}
