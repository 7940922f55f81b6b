package stripetest

import (
	"encoding/json"
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
	StoredRefusal                 // 400, which Stripe stores for the key; nothing was executed
	Garbled                       // 200 with a body that is cut off, after the execution
)

// Faults are all faults after which a repeated call has the outcome of the first.
func Faults() []Fault {
	return []Fault{ResetBefore, ResetAfter, FailBefore, FailAfter, HangBefore, HangAfter, StoredFailure, StoredFailureWithEffect, TooMany, Garbled}
}

// String returns the name of a fault.
func (f Fault) String() string {
	return [...]string{
		"None", "ResetBefore", "ResetAfter", "FailBefore", "FailAfter", "HangBefore", "HangAfter", "StoredFailure", "StoredFailureWithEffect", "TooMany",
		"StoredRefusal", "Garbled",
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
func (f Fault) after(w http.ResponseWriter, r *http.Request, a reply) bool {
	switch f {
	case ResetAfter:
		panic(http.ErrAbortHandler)
	case FailAfter:
		w.WriteHeader(http.StatusBadGateway)
	case HangAfter:
		<-r.Context().Done()
	case Garbled:
		text, err := json.Marshal(a.body)
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(text[:len(text)-1]) // the client may have gone
	default:
		return false
	}
	return true
}
