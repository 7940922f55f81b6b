package mpp

import "net/http"

// ProblemType is the URI of a kind of problem (RFC 9457 §3.1.1).
type ProblemType string

const problems = "https://paymentauth.org/problems/"

// The kinds of problem.
const (
	ProblemPaymentRequired     ProblemType = problems + "payment-required"
	ProblemPaymentInsufficient ProblemType = problems + "payment-insufficient"
	ProblemPaymentExpired      ProblemType = problems + "payment-expired"
	ProblemVerificationFailed  ProblemType = problems + "verification-failed"
	ProblemMethodUnsupported   ProblemType = problems + "method-unsupported"
	ProblemMalformedCredential ProblemType = problems + "malformed-credential"
	ProblemInvalidChallenge    ProblemType = problems + "invalid-challenge"
)

// Title is the short text of the kind.
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

// Status is the HTTP status of the kind: 400 for a method that is not offered,
// else 402.
func (t ProblemType) Status() int {
	if t == ProblemMethodUnsupported {
		return http.StatusBadRequest
	}
	return http.StatusPaymentRequired
}

// Problem is the body of a refusal, application/problem+json.
type Problem struct {
	Type   ProblemType `json:"type"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail,omitempty"`
}

// NewProblem fills in title and status.
func NewProblem(t ProblemType, detail string) Problem {
	return Problem{Type: t, Title: t.Title(), Status: t.Status(), Detail: detail}
}
