package paywall

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Codes of the gate's own, beside those of the service and of x402.
const (
	codePaymentRequired = "payment_required"
	codeMultiple        = "multiple_credentials"
	codeMalformed       = "malformed_credential"
	codeNoCredits       = "insufficient_credits"
	codeRedeemed        = "already_redeemed"
	codeBusy            = "credential_in_use"
	codeOtherPayment    = "credential_for_another_payment"
	codeFacilitator     = "facilitator_unavailable"
	codeTimeout         = "facilitator_timeout"
	codePending         = "settlement_pending"
	codeUnavailable     = "unavailable"
	codeTooMany         = "rate_limit_exceeded"
	codeInternal        = "internal_error"
)

// defaultWait is the Retry-After where nobody says otherwise.
const defaultWait = 5 * time.Second

// refusal is the error response sent instead of the resource. The client sees
// everything except cause.
type refusal struct {
	status  int
	code    string
	message string
	// reason is the x402 code for error; "" takes code.
	reason x402.Reason
	// problem is the kind of problem, of the Payment scheme.
	problem mpp.ProblemType
	// settlement is the header that names a refused x402 settlement, network the one it was for.
	settlement, network string
	// wait is Retry-After; 0 sends none.
	wait time.Duration
	// limit and remaining are what a limit that refused leaves.
	limit, remaining *int64
	// key is the Idempotency-Key to send again.
	key string
	// unsent reports that the service turned the request away before it began anything.
	unsent bool
	// cause is for the log alone.
	cause error
}

// Refusal describes a credential that was refused, for [Config.OnRefused].
type Refusal struct {
	// Credential is the kind of credential; "" if there were several.
	Credential Credential
	// Status, Code, Message and RequestID are those of the answer.
	Status        int
	Code, Message string
	RequestID     string
}

func (r *refusal) Error() string { return r.code }

func (r *refusal) Unwrap() error { return r.cause }

// undecided reports whether money may have moved.
func (r *refusal) undecided() bool {
	switch r.status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusConflict, http.StatusServiceUnavailable:
		return true
	}
	return false
}

func refuse(code, message string) *refusal {
	return &refusal{status: http.StatusPaymentRequired, code: code, message: message}
}

// refuseX402 is a payment that is not good, in x402's own codes.
func refuseX402(reason x402.Reason, message string) *refusal {
	return &refusal{status: http.StatusPaymentRequired, code: string(reason), message: message, reason: reason}
}

// malformedX402 is a payment that cannot be read.
func malformedX402(err error) *refusal {
	r := &refusal{status: http.StatusBadRequest, code: codeMalformed, message: "The payment cannot be read: " + err.Error() + ".", reason: x402.ReasonInvalidPayload}
	var d *x402.DecodeError
	if errors.As(err, &d) {
		r.reason = d.Reason
	}
	return r
}

// refuseMPP is a problem of the Payment scheme.
func refuseMPP(t mpp.ProblemType, code, message string) *refusal {
	return &refusal{status: t.Status(), code: code, message: message, problem: t}
}

// outage is a settlement or check that nobody answered for. It is never a price:
// the same credential is good, and must be sent again.
func outage(timeout bool, wait time.Duration, cause error) *refusal {
	r := &refusal{
		status: http.StatusBadGateway, code: codeFacilitator, wait: wait, cause: cause,
		message: "The payment cannot be settled now. Send the same credential again.",
	}
	if timeout {
		r.status, r.code = http.StatusGatewayTimeout, codeTimeout
	}
	if r.wait <= 0 {
		r.wait = defaultWait
	}
	return r
}

// fromTransfer turns the errors of a facilitator into answers. The texts of a
// facilitator are not passed on, its codes are.
func fromTransfer(err error) *refusal {
	var refused *x402.RefusedError
	var pending *x402.PendingError
	var unavailable *x402.UnavailableError
	switch {
	case errors.As(err, &refused) && refused.Reason == x402.ReasonDuplicate:
		no := alreadyRedeemed()
		no.cause = err
		return no
	case errors.As(err, &refused):
		return refuseX402(safeReason(refused.Reason), "The payment was refused.")
	case errors.As(err, &pending):
		r := outage(true, pending.RetryAfter, err)
		r.code, r.reason = codePending, x402.ReasonPending
		r.message = "The payment was sent and is not confirmed yet. Send the same credential again."
		return r
	case errors.As(err, &unavailable):
		return outage(unavailable.Timeout, unavailable.RetryAfter, err)
	}
	return outage(errors.Is(err, context.DeadlineExceeded), 0, err)
}

// safeReason passes a code on, and not what only looks like one.
func safeReason(r x402.Reason) x402.Reason {
	if len(r) > 80 {
		return x402.ReasonInvalidPayload
	}
	for i := range len(r) {
		if c := r[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return x402.ReasonInvalidPayload
		}
	}
	return r
}

// fromMandate turns the errors of a mandate settlement into answers.
func fromMandate(err error) *refusal {
	var e *client.Error
	if errors.As(err, &e) && e.Status < http.StatusInternalServerError {
		return fromService(e)
	}
	var down *outageError
	if errors.As(err, &down) {
		return outage(down.timeout, down.retryAfter, err)
	}
	var wait time.Duration
	if e != nil {
		wait = e.RetryAfter
	}
	return outage(errors.Is(err, context.DeadlineExceeded), wait, err)
}

// fromService sorts the service's codes: what the payer can mend is a refusal
// with a new price, what the gate's operator must mend is an outage.
func fromService(e *client.Error) *refusal {
	switch e.Code {
	case client.CodePerTxLimit, client.CodeMonthlyLimit, client.CodeMerchantLimit, client.CodeRailUnavailable,
		client.CodeMerchantInactive, client.CodeMandateInvalid, client.CodeMandateRevoked, client.CodeMandateExpired,
		client.CodeMerchantNotAllowed, client.CodeNotFound:
		r := refuse(string(e.Code), e.Message)
		r.limit, r.remaining, r.cause = e.LimitCents, e.RemainingMonthlySpendCents, e
		return r
	case client.CodeIdempotencyMismatch:
		return &refusal{status: http.StatusUnprocessableEntity, code: string(e.Code), message: e.Message, cause: e}
	case client.CodeIdempotencyInProgress:
		r := busy()
		r.cause, r.wait, r.unsent = e, max(e.RetryAfter, r.wait), true
		return r
	case client.CodeValidation:
		if e.Param == "mandate" {
			r := refuse(string(e.Code), e.Message)
			r.cause = e
			return r
		}
	default:
	}
	r := outage(false, e.RetryAfter, e)
	r.unsent = true
	return r
}

// fromCheck turns the errors of the offline check of a mandate into answers.
func fromCheck(err error) *refusal {
	var e *mandate.Error
	if !errors.As(err, &e) {
		return &refusal{status: http.StatusInternalServerError, code: codeInternal, message: "The mandate cannot be checked.", cause: err}
	}
	if errors.Is(err, mandate.ErrUnavailable) {
		return outage(errors.Is(err, context.DeadlineExceeded), 0, err)
	}
	r := refuse(e.Code(), "The mandate was refused: "+string(e.Reason)+".")
	r.cause = err
	return r
}

// tooMany is a transfer that the facilitator is not asked about: its client's address
// has sent too many that were worthless.
func tooMany(wait time.Duration) *refusal {
	return &refusal{
		status: http.StatusTooManyRequests, code: codeTooMany, wait: wait, unsent: true,
		message: "Too many refused payments from this address. Send the same credential again later.",
	}
}

// alreadyRedeemed is a credential that was settled and served before, or whose
// settlement is somebody else's.
func alreadyRedeemed() *refusal { return refuse(codeRedeemed, "The credential was redeemed before.") }

// busy is a duplicate of a request that is still running.
func busy() *refusal {
	return &refusal{
		status: http.StatusConflict, code: codeBusy, wait: time.Second,
		message: "Another request with this credential is running. Ask again when it has ended.",
	}
}
