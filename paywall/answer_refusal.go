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

// Error codes of the gate, in addition to those of the service and of x402.
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
	codeRefunded        = "payment_refunded"
)

// defaultWait is the default Retry-After.
const defaultWait = 5 * time.Second

// refusal is the error response sent instead of the resource. The client sees
// everything except cause.
type refusal struct {
	status  int
	code    string
	message string
	// reason is the x402 code. If it is "", code is used.
	reason x402.Reason
	// problem is the problem type of the Payment scheme.
	problem mpp.ProblemType
	// settlement is the name of the header that reports a failed settlement on network.
	settlement, network string
	// wait is the Retry-After. Zero sends none.
	wait time.Duration
	// limits describe the limit that refused the payment.
	limits limits
	// key is the Idempotency-Key with which to repeat the request.
	key string
	// unsent reports that the service refused the request before it did anything.
	unsent bool
	// cause is only logged.
	cause error
}

// Refusal describes a credential that was refused, for [Config.OnRefused].
type Refusal struct {
	// Credential is the kind of credential. Empty if the request had several.
	Credential Credential
	// Status is the HTTP status of the response.
	Status int
	// Code is the error code of the response.
	Code string
	// Message is the error message of the response.
	Message string
	// RequestID is the X-Request-Id of the response.
	RequestID string
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

// refuseX402 returns the refusal of a payment with a code of x402.
func refuseX402(reason x402.Reason, message string) *refusal {
	return &refusal{status: http.StatusPaymentRequired, code: string(reason), message: message, reason: reason}
}

// malformedX402 returns the refusal of a payment that cannot be decoded.
func malformedX402(err error) *refusal {
	r := &refusal{status: http.StatusBadRequest, code: codeMalformed, message: "The payment is malformed: " + err.Error() + ".", reason: x402.ReasonInvalidPayload}
	var d *x402.DecodeError
	if errors.As(err, &d) {
		r.reason = d.Reason
	}
	return r
}

// refuseMPP returns a refusal with a problem type of the Payment scheme.
func refuseMPP(t mpp.ProblemType, code, message string) *refusal {
	return &refusal{status: t.Status(), code: code, message: message, problem: t}
}

// outage returns the refusal of a call without a usable response. It is never a 402: the
// client must repeat the same credential rather than pay again.
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

// fromTransfer returns the refusal for an error of a facilitator. It passes on the code and
// not the message.
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

// safeReason returns a code that is safe to pass on.
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

// fromMandate returns the refusal for an error of a mandate settlement.
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

// fromService returns the refusal for a code of the service: a 402 if the payer can resolve
// it, an outage if the operator of the gate must.
func fromService(e *client.Error) *refusal {
	switch e.Code {
	case client.CodePerTxLimit, client.CodeDailyLimit, client.CodeMonthlyLimit, client.CodeTotalLimit, client.CodeVelocityLimit,
		client.CodePayeeLimit, client.CodeMerchantLimit, client.CodeRailUnavailable,
		client.CodeMerchantInactive, client.CodeMandateInvalid, client.CodeMandateRevoked, client.CodeMandateExpired, client.CodeMandatePaused,
		client.CodeMerchantNotAllowed, client.CodeNotFound:
		r := refuse(string(e.Code), e.Message)
		r.limits, r.cause = limitsOf(e), e
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

// fromCheck returns the refusal for an error of the offline check of a mandate.
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

// tooMany returns the refusal of a transfer from an address that has sent too many invalid
// ones.
func tooMany(wait time.Duration) *refusal {
	return &refusal{
		status: http.StatusTooManyRequests, code: codeTooMany, wait: wait, unsent: true,
		message: "Too many refused payments from this address. Send the same credential again later.",
	}
}

// alreadyRedeemed returns the refusal of a credential that was served before, or that another
// gate settled.
func alreadyRedeemed() *refusal { return refuse(codeRedeemed, "The credential was already redeemed.") }

// busy returns the refusal of a duplicate of a running request.
func busy() *refusal {
	return &refusal{
		status: http.StatusConflict, code: codeBusy, wait: time.Second,
		message: "Another request with this credential is running. Send it again when that has ended.",
	}
}
