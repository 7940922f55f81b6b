package card

import (
	"errors"
	"net/http"
)

// The HTTP protocol between [HTTP] and [Processor.Handler].

// maxBody limits the bodies of requests and responses, in bytes.
const maxBody = 64 << 10

const jsonType = "application/json"

// errorBody is the body of every response that is not 200.
type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// wireError is the HTTP form of an error. A client recognizes the error only if status and
// code match: a response of a proxy is not the processor's.
type wireError struct {
	err    error
	status int
	code   string
}

// wireErrors lists the errors that are preserved over HTTP.
var wireErrors = [...]wireError{
	{ErrInvalid, http.StatusBadRequest, "invalid_parameters"},
	{ErrReferenceReused, http.StatusConflict, "reference_reused"},
	{ErrUnknownCard, http.StatusUnprocessableEntity, "unknown_card"},
	{ErrUnknownCustomer, http.StatusUnprocessableEntity, "unknown_customer"},
	{ErrUnknownPayment, http.StatusNotFound, "unknown_payment"},
	{ErrUnknownRefund, http.StatusNotFound, "unknown_refund"},
	{ErrAmountTooLarge, http.StatusUnprocessableEntity, "amount_too_large"},
	{ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{ErrClosed, http.StatusServiceUnavailable, "closed"},
}

// onWire returns the HTTP form of an error, or internal_error for other errors.
func onWire(err error) wireError {
	for _, known := range wireErrors {
		if errors.Is(err, known.err) {
			return known
		}
	}
	return wireError{nil, http.StatusInternalServerError, "internal_error"}
}

// fromWire reverses onWire. It returns nil for other responses.
func fromWire(status int, code string) error {
	for _, known := range wireErrors {
		if known.status == status && known.code == code {
			return known.err
		}
	}
	return nil
}
