package card

import (
	"errors"
	"net/http"
)

// What both sides of the HTTP form agree on.

// maxBody bounds requests and answers, in bytes.
const maxBody = 64 << 10

const jsonType = "application/json"

// errorBody is every answer that is not 200.
type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// wireError is how an error travels. A client takes it for the error only where
// status and code agree: an answer of something in between is none of ours.
type wireError struct {
	err    error
	status int
	code   string
}

// wireErrors lists the errors that keep their meaning through HTTP.
var wireErrors = [...]wireError{
	{ErrInvalid, http.StatusBadRequest, "invalid_parameters"},
	{ErrReferenceReused, http.StatusConflict, "reference_reused"},
	{ErrUnknownCard, http.StatusUnprocessableEntity, "unknown_card"},
	{ErrUnknownCustomer, http.StatusUnprocessableEntity, "unknown_customer"},
	{ErrUnknownPayment, http.StatusNotFound, "unknown_payment"},
	{ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{ErrClosed, http.StatusServiceUnavailable, "closed"},
}

// onWire returns how an error travels; any other one as internal_error.
func onWire(err error) wireError {
	for _, known := range wireErrors {
		if errors.Is(err, known.err) {
			return known
		}
	}
	return wireError{nil, http.StatusInternalServerError, "internal_error"}
}

// fromWire is the way back; nil where the answer is none of those.
func fromWire(status int, code string) error {
	for _, known := range wireErrors {
		if known.status == status && known.code == code {
			return known.err
		}
	}
	return nil
}
