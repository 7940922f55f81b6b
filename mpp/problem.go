package mpp

import "net/http"

// ProblemType is the URI of a problem type (RFC 9457 §3.1.1).
type ProblemType string

const problems = "https://paymentauth.org/problems/"

// The problem types.
const (
	ProblemPaymentRequired     ProblemType = problems + "payment-required"
	ProblemPaymentInsufficient ProblemType = problems + "payment-insufficient"
	ProblemPaymentExpired      ProblemType = problems + "payment-expired"
	ProblemVerificationFailed  ProblemType = problems + "verification-failed"
	ProblemMethodUnsupported   ProblemType = problems + "method-unsupported"
	ProblemMalformedCredential ProblemType = problems + "malformed-credential"
	ProblemInvalidChallenge    ProblemType = problems + "invalid-challenge"
)

// Title returns the short text of the problem type.
func (t ProblemType) Title() string {
	switch t {
	case ProblemPaymentInsufficient:
		return "Payment Insufficient"
	case ProblemPaymentExpired:
		return "Payment Expired"
	case ProblemVerificationFailed:
		return "Verification Failed"
	case ProblemMethodUnsupported:
		return "Method Unsupported"
	case ProblemMalformedCredential:
		return "Malformed Credential"
	case ProblemInvalidChallenge:
		return "Invalid Challenge"
	case ProblemPaymentRequired:
		return "Payment Required"
	}
	return http.StatusText(t.Status())
}

// Status returns the HTTP status of the problem type: 400 for a method that is not
// offered, otherwise 402.
func (t ProblemType) Status() int {
	if t == ProblemMethodUnsupported {
		return http.StatusBadRequest
	}
	return http.StatusPaymentRequired
}

// Problem is the body of a refusal, application/problem+json.
type Problem struct {
	// Type is the problem type.
	Type ProblemType `json:"type"`
	// Title is the short text of the type.
	Title string `json:"title"`
	// Status is the HTTP status of the response.
	Status int `json:"status"`
	// Detail explains this occurrence to people. Optional.
	Detail string `json:"detail,omitempty"`
}

// NewProblem returns a Problem with the title and status of its type.
func NewProblem(t ProblemType, detail string) Problem {
	return Problem{Type: t, Title: t.Title(), Status: t.Status(), Detail: detail}
}
