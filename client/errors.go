package client

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code is the machine-readable code of an error of the merchant API.
type Code string

// The error codes. Each has a page under docs/errors.
const (
	CodeValidation            Code = "validation_error"
	CodeUnauthorized          Code = "unauthorized"
	CodePerTxLimit            Code = "per_tx"
	CodeDailyLimit            Code = "daily"
	CodeMonthlyLimit          Code = "monthly"
	CodeTotalLimit            Code = "total"
	CodeVelocityLimit         Code = "velocity"
	CodePayeeLimit            Code = "payee_limit"
	CodeMerchantLimit         Code = "merchant_limit_exceeded"
	CodeRailUnavailable       Code = "rail_unavailable"
	CodeInsufficientScope     Code = "insufficient_scope"
	CodeMerchantInactive      Code = "merchant_inactive"
	CodeMandateInvalid        Code = "mandate_invalid"
	CodeMandateRevoked        Code = "mandate_revoked"
	CodeMandateExpired        Code = "mandate_expired"
	CodeMandatePaused         Code = "mandate_paused"
	CodeMerchantNotAllowed    Code = "merchant_not_allowed"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeSessionFinished       Code = "session_finished"
	CodeAuthorizationEnded    Code = "authorization_ended"
	CodeNotRefundable         Code = "not_refundable"
	CodeRefundRefused         Code = "refund_refused"
	CodeTooManyRefunds        Code = "too_many_refunds"
	CodeOfferNotPayable       Code = "offer_not_payable"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodePayloadTooLarge       Code = "payload_too_large"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeIdempotencyMismatch   Code = "idempotency_mismatch"
	CodeRateLimited           Code = "rate_limit_exceeded"
	CodeInternal              Code = "internal_error"
	CodeUnavailable           Code = "unavailable"
)

// The sentinels for errors.Is, one for each code.
var (
	ErrValidation            = &Error{Code: CodeValidation, Status: http.StatusBadRequest}
	ErrUnauthorized          = &Error{Code: CodeUnauthorized, Status: http.StatusUnauthorized}
	ErrPerTxLimit            = &Error{Code: CodePerTxLimit, Status: http.StatusPaymentRequired}
	ErrDailyLimit            = &Error{Code: CodeDailyLimit, Status: http.StatusPaymentRequired}
	ErrMonthlyLimit          = &Error{Code: CodeMonthlyLimit, Status: http.StatusPaymentRequired}
	ErrTotalLimit            = &Error{Code: CodeTotalLimit, Status: http.StatusPaymentRequired}
	ErrVelocityLimit         = &Error{Code: CodeVelocityLimit, Status: http.StatusPaymentRequired}
	ErrPayeeLimit            = &Error{Code: CodePayeeLimit, Status: http.StatusPaymentRequired}
	ErrMerchantLimit         = &Error{Code: CodeMerchantLimit, Status: http.StatusPaymentRequired}
	ErrRailUnavailable       = &Error{Code: CodeRailUnavailable, Status: http.StatusPaymentRequired}
	ErrInsufficientScope     = &Error{Code: CodeInsufficientScope, Status: http.StatusForbidden}
	ErrMerchantInactive      = &Error{Code: CodeMerchantInactive, Status: http.StatusForbidden}
	ErrMandateInvalid        = &Error{Code: CodeMandateInvalid, Status: http.StatusForbidden}
	ErrMandateRevoked        = &Error{Code: CodeMandateRevoked, Status: http.StatusForbidden}
	ErrMandateExpired        = &Error{Code: CodeMandateExpired, Status: http.StatusForbidden}
	ErrMandatePaused         = &Error{Code: CodeMandatePaused, Status: http.StatusForbidden}
	ErrMerchantNotAllowed    = &Error{Code: CodeMerchantNotAllowed, Status: http.StatusForbidden}
	ErrNotFound              = &Error{Code: CodeNotFound, Status: http.StatusNotFound}
	ErrMethodNotAllowed      = &Error{Code: CodeMethodNotAllowed, Status: http.StatusMethodNotAllowed}
	ErrSessionFinished       = &Error{Code: CodeSessionFinished, Status: http.StatusConflict}
	ErrNotRefundable         = &Error{Code: CodeNotRefundable, Status: http.StatusConflict}
	ErrTooManyRefunds        = &Error{Code: CodeTooManyRefunds, Status: http.StatusConflict}
	ErrRefundRefused         = &Error{Code: CodeRefundRefused, Status: http.StatusConflict}
	ErrAuthorizationEnded    = &Error{Code: CodeAuthorizationEnded, Status: http.StatusConflict}
	ErrOfferNotPayable       = &Error{Code: CodeOfferNotPayable, Status: http.StatusUnprocessableEntity}
	ErrIdempotencyInProgress = &Error{Code: CodeIdempotencyInProgress, Status: http.StatusConflict}
	ErrPayloadTooLarge       = &Error{Code: CodePayloadTooLarge, Status: http.StatusRequestEntityTooLarge}
	ErrUnsupportedMediaType  = &Error{Code: CodeUnsupportedMediaType, Status: http.StatusUnsupportedMediaType}
	ErrIdempotencyMismatch   = &Error{Code: CodeIdempotencyMismatch, Status: http.StatusUnprocessableEntity}
	ErrRateLimited           = &Error{Code: CodeRateLimited, Status: http.StatusTooManyRequests}
	ErrInternal              = &Error{Code: CodeInternal, Status: http.StatusInternalServerError}
	ErrUnavailable           = &Error{Code: CodeUnavailable, Status: http.StatusServiceUnavailable}
)

// Errors returns one sentinel for each code.
func Errors() []*Error {
	return []*Error{
		ErrValidation, ErrUnauthorized, ErrPerTxLimit, ErrDailyLimit, ErrMonthlyLimit, ErrTotalLimit, ErrVelocityLimit, ErrPayeeLimit,
		ErrMerchantLimit, ErrRailUnavailable, ErrInsufficientScope,
		ErrMerchantInactive, ErrMandateInvalid, ErrMandateRevoked, ErrMandateExpired, ErrMandatePaused, ErrMerchantNotAllowed,
		ErrNotFound, ErrMethodNotAllowed, ErrSessionFinished, ErrAuthorizationEnded, ErrNotRefundable, ErrRefundRefused,
		ErrOfferNotPayable, ErrIdempotencyInProgress, ErrPayloadTooLarge,
		ErrUnsupportedMediaType, ErrIdempotencyMismatch, ErrRateLimited, ErrInternal, ErrUnavailable,
	}
}

// Error is an error response of the service. Match its code with errors.Is against a
// sentinel such as [ErrMonthlyLimit]; read the other fields with errors.As.
type Error struct {
	// Status is the HTTP status. It is 400 if the client refused the call before sending it.
	Status int `json:"-"`
	// Code is the machine-readable code.
	Code Code `json:"code"`
	// Message describes the problem for a person.
	Message string `json:"message"`
	// Param is the name of the invalid field. It is empty if no single field is at fault.
	Param string `json:"param,omitempty"`
	// RequestID identifies the call in the service's logs. It is empty if the service
	// did not receive the call.
	RequestID string `json:"requestId"`
	// DocURL is the address of the page that explains the code.
	DocURL string `json:"docUrl,omitempty"`
	// LimitCents is the limit that the charge exceeded, in US cents. It is nil for other errors.
	LimitCents *int64 `json:"limitCents,omitempty"`
	// RemainingCents is what is left of the limit in this period, in US cents. It is nil
	// unless the limit is one of a period.
	RemainingCents *int64 `json:"remainingCents,omitempty"`
	// LimitPayments is the limit as a number of payments, of which none is left. It is set
	// with [CodeVelocityLimit].
	LimitPayments *int64 `json:"limitPayments,omitempty"`
	// RenewsAt is when the limit's next period begins. It is zero if there is none.
	RenewsAt time.Time `json:"renewsAt,omitzero"`
	// RemainingMonthlySpendCents is what is left of the month, in US cents. It is set
	// with [CodeMonthlyLimit].
	RemainingMonthlySpendCents *int64 `json:"remainingMonthlySpendCents,omitempty"`
	// Scope is the scope that the API key or the access token lacks. It is set with
	// [CodeInsufficientScope], unless no access token permits the call.
	Scope Scope `json:"scope,omitempty"`
	// RetryAfter is how long the service asks to wait before a retry. It is zero if the
	// service does not ask.
	RetryAfter time.Duration `json:"-"`
}

// Error returns the message with field, code and request id.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Message != "" {
		s = e.Message + " (" + s + ")"
	}
	if e.Param != "" && !strings.HasPrefix(e.Message, e.Param+" ") { // the service's messages begin with it
		s = e.Param + ": " + s
	}
	if e.RequestID != "" {
		s += fmt.Sprintf(" [%s]", e.RequestID)
	}
	return s
}

// Is reports whether target is an [*Error] with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
