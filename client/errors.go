package client

import (
	"fmt"
	"net/http"
	"time"
)

// Code is the machine-readable part of an error of the merchant API.
type Code string

// The codes, with the page that explains each under docs/errors.
const (
	CodeValidation            Code = "validation_error"
	CodeUnauthorized          Code = "unauthorized"
	CodePerTxLimit            Code = "per_tx"
	CodeMonthlyLimit          Code = "monthly"
	CodeMerchantLimit         Code = "merchant_limit_exceeded"
	CodeRailUnavailable       Code = "rail_unavailable"
	CodeMerchantInactive      Code = "merchant_inactive"
	CodeMandateInvalid        Code = "mandate_invalid"
	CodeMandateRevoked        Code = "mandate_revoked"
	CodeMandateExpired        Code = "mandate_expired"
	CodeMerchantNotAllowed    Code = "merchant_not_allowed"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeSessionFinished       Code = "session_finished"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodePayloadTooLarge       Code = "payload_too_large"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeIdempotencyMismatch   Code = "idempotency_mismatch"
	CodeRateLimited           Code = "rate_limit_exceeded"
	CodeInternal              Code = "internal_error"
	CodeUnavailable           Code = "unavailable"
)

// One sentinel a code, for errors.Is.
var (
	ErrValidation            = &Error{Code: CodeValidation, Status: http.StatusBadRequest}
	ErrUnauthorized          = &Error{Code: CodeUnauthorized, Status: http.StatusUnauthorized}
	ErrPerTxLimit            = &Error{Code: CodePerTxLimit, Status: http.StatusPaymentRequired}
	ErrMonthlyLimit          = &Error{Code: CodeMonthlyLimit, Status: http.StatusPaymentRequired}
	ErrMerchantLimit         = &Error{Code: CodeMerchantLimit, Status: http.StatusPaymentRequired}
	ErrRailUnavailable       = &Error{Code: CodeRailUnavailable, Status: http.StatusPaymentRequired}
	ErrMerchantInactive      = &Error{Code: CodeMerchantInactive, Status: http.StatusForbidden}
	ErrMandateInvalid        = &Error{Code: CodeMandateInvalid, Status: http.StatusForbidden}
	ErrMandateRevoked        = &Error{Code: CodeMandateRevoked, Status: http.StatusForbidden}
	ErrMandateExpired        = &Error{Code: CodeMandateExpired, Status: http.StatusForbidden}
	ErrMerchantNotAllowed    = &Error{Code: CodeMerchantNotAllowed, Status: http.StatusForbidden}
	ErrNotFound              = &Error{Code: CodeNotFound, Status: http.StatusNotFound}
	ErrMethodNotAllowed      = &Error{Code: CodeMethodNotAllowed, Status: http.StatusMethodNotAllowed}
	ErrSessionFinished       = &Error{Code: CodeSessionFinished, Status: http.StatusConflict}
	ErrIdempotencyInProgress = &Error{Code: CodeIdempotencyInProgress, Status: http.StatusConflict}
	ErrPayloadTooLarge       = &Error{Code: CodePayloadTooLarge, Status: http.StatusRequestEntityTooLarge}
	ErrUnsupportedMediaType  = &Error{Code: CodeUnsupportedMediaType, Status: http.StatusUnsupportedMediaType}
	ErrIdempotencyMismatch   = &Error{Code: CodeIdempotencyMismatch, Status: http.StatusUnprocessableEntity}
	ErrRateLimited           = &Error{Code: CodeRateLimited, Status: http.StatusTooManyRequests}
	ErrInternal              = &Error{Code: CodeInternal, Status: http.StatusInternalServerError}
	ErrUnavailable           = &Error{Code: CodeUnavailable, Status: http.StatusServiceUnavailable}
)

// Errors lists one sentinel for each code there is.
func Errors() []*Error {
	return []*Error{
		ErrValidation, ErrUnauthorized, ErrPerTxLimit, ErrMonthlyLimit, ErrMerchantLimit, ErrRailUnavailable,
		ErrMerchantInactive, ErrMandateInvalid, ErrMandateRevoked, ErrMandateExpired, ErrMerchantNotAllowed,
		ErrNotFound, ErrMethodNotAllowed, ErrSessionFinished, ErrIdempotencyInProgress, ErrPayloadTooLarge,
		ErrUnsupportedMediaType, ErrIdempotencyMismatch, ErrRateLimited, ErrInternal, ErrUnavailable,
	}
}

// Error is a refusal or failure that the service answered. Match its kind with
// errors.Is against the sentinels ([ErrMonthlyLimit] …), which compares the code
// alone; read the rest with errors.As.
type Error struct {
	// Status is the HTTP status; 400 also where the client refused before sending.
	Status int `json:"-"`
	// Code is the kind of error.
	Code Code `json:"code"`
	// Message says for a person what is wrong.
	Message string `json:"message"`
	// Param names the field that is wrong, where one is.
	Param string `json:"param,omitempty"`
	// RequestID finds the call in the service's logs. Empty where the service has not seen it.
	RequestID string `json:"requestId"`
	// DocURL explains the code.
	DocURL string `json:"docUrl,omitempty"`
	// LimitCents is the limit that refused a charge.
	LimitCents *int64 `json:"limitCents,omitempty"`
	// RemainingMonthlySpendCents is what is left this month, with [CodeMonthlyLimit].
	RemainingMonthlySpendCents *int64 `json:"remainingMonthlySpendCents,omitempty"`
	// RetryAfter is how long the service asks to wait before a retry; zero where it does not say.
	RetryAfter time.Duration `json:"-"`
}

// Error tells message, field, code and request id.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Message != "" {
		s = e.Message + " (" + s + ")"
	}
	if e.Param != "" {
		s = e.Param + ": " + s
	}
	if e.RequestID != "" {
		s += fmt.Sprintf(" [%s]", e.RequestID)
	}
	return s
}

// Is tells whether target is an [*Error] of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
