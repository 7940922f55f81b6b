package mcppay

import (
	"encoding/json"
	"net/http"
)

// CodeAsked is the code of a 402 for a call without payment.
const CodeAsked = "payment_required"

// Refused is why a gate did not let a call through.
type Refused struct {
	Status  int    `json:"status"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// RefusalOf returns the refusal of a response.
func RefusalOf(status int, body []byte) Refused {
	var r Refused
	_ = json.Unmarshal(body, &r) // empty if the body is not the gate's
	r.Status = status
	return r
}

// ReadRefusal returns the status and the body of the response that value, a member [Refusal],
// stands for. The status is 0 if value is none.
func ReadRefusal(value any) (status int, body []byte) {
	data, err := json.Marshal(value)
	if err != nil {
		return 0, nil
	}
	var r Refused
	if json.Unmarshal(data, &r) != nil || r.Status < http.StatusBadRequest || r.Status > 599 {
		return 0, nil
	}
	return r.Status, data
}
