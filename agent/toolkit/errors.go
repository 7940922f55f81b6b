package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
)

// Codes of errors besides those of package client.
const (
	// CodeDuplicate: the same payment was made in the last ten minutes.
	CodeDuplicate = "duplicate_payment"
	// CodeMandateNeeded: no mandate fits; a person has to confirm one.
	CodeMandateNeeded = "mandate_needed"
	// CodeTooExpensive: the price is above the call's limit.
	CodeTooExpensive = "too_expensive"
	// CodeNotPaid: no payment method of the seller is usable.
	CodeNotPaid = "not_paid"
	// CodeOutcomeUnknown: the payment may have been made.
	CodeOutcomeUnknown = "outcome_unknown"
	// CodeFetchFailed: the server did not answer, or its answer cannot be read.
	CodeFetchFailed = "fetch_failed"
	// CodeTimeout: the call took too long, or was canceled.
	CodeTimeout = "timeout"
)

// Remedy is what helps against an error.
type Remedy string

// The remedies.
const (
	LowerAmount Remedy = "lower_amount"
	Wait        Remedy = "wait"
	AskPerson   Remedy = "ask_person"
	NewMandate  Remedy = "new_mandate"
	FixInput    Remedy = "fix_input"
	TryAgain    Remedy = "try_again"
	Confirm     Remedy = "confirm"
	Stop        Remedy = "stop"
)

// Error is an error that a model can act on. Its JSON is the content of a failed tool call.
type Error struct {
	// Code is the machine-readable code.
	Code string `json:"code"`
	// Message describes what happened.
	Message string `json:"message"`
	// Remedy is what helps.
	Remedy Remedy `json:"remedy"`
	// Next is what to do, in a sentence.
	Next string `json:"next"`
	// TransactionID is the earlier payment of a duplicate, if it is known.
	TransactionID string `json:"transactionId,omitempty"`
	// IdempotencyKey repeats a payment whose outcome is unknown. Not set for fetches.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// SetupURL is where a person confirms a mandate, with [CodeMandateNeeded].
	SetupURL string `json:"setupUrl,omitempty"`
	// SessionToken identifies that setup for [Kit.PollSetup].
	SessionToken string `json:"sessionToken,omitempty"`

	cause error
}

// Error returns the error as JSON.
func (e *Error) Error() string {
	text, err := json.Marshal((*plainError)(e)) //nolint:gosec // the session lets the caller ask for its result
	if err != nil {
		return e.Code
	}
	return string(text)
}

type plainError Error

// Unwrap returns the cause, such as a [*client.Error].
func (e *Error) Unwrap() error { return e.cause }

// invalid returns the error for an invalid input.
func invalid(field, problem string) *Error {
	return &Error{Code: string(client.CodeValidation), Message: field + " " + problem, Remedy: FixInput, Next: "Correct " + field + " and call again."}
}

// advice maps codes of the service to a remedy and what to do next.
var advice = map[client.Code]struct {
	remedy Remedy
	next   string
}{
	client.CodeValidation:            {FixInput, "Correct the input and call again."},
	client.CodeUnauthorized:          {AskPerson, "Stop, and ask the person for another access token: this one is wrong, expired or revoked."},
	client.CodeInsufficientScope:     {AskPerson, "Stop, and ask the person for an access token that permits this."},
	client.CodePerTxLimit:            {LowerAmount, "Pay less at once, or ask the person for a mandate with a higher limit."},
	client.CodeDailyLimit:            {Wait, "Wait for the next day, or ask the person for a higher limit."},
	client.CodeMonthlyLimit:          {Wait, "Wait for the next month, or ask the person for a higher limit."},
	client.CodeTotalLimit:            {NewMandate, "Ask the person for a new mandate with setup_spending_mandate."},
	client.CodeVelocityLimit:         {Wait, "Make no more payments today."},
	client.CodePayeeLimit:            {Wait, "Pay this payee no more this month, or ask the person for a higher limit."},
	client.CodeMerchantLimit:         {LowerAmount, "Pay less at once."},
	client.CodeRailUnavailable:       {Stop, "Stop: this payee cannot be paid from this mandate."},
	client.CodeMerchantInactive:      {Stop, "Stop: the payee's account is not active."},
	client.CodeMandateInvalid:        {NewMandate, "Ask the person for a new mandate with setup_spending_mandate."},
	client.CodeMandateRevoked:        {NewMandate, "The person has ended this mandate. Ask before you request a new one."},
	client.CodeMandatePaused:         {AskPerson, "The person has paused this mandate. Ask before you try again."},
	client.CodeMandateExpired:        {NewMandate, "Ask the person for a new mandate with setup_spending_mandate."},
	client.CodeMerchantNotAllowed:    {AskPerson, "The mandate does not allow this payee. Ask the person for one that does."},
	client.CodeNotFound:              {FixInput, "Check the id: it does not exist, or is not yours."},
	client.CodeSessionFinished:       {Stop, "Read the session's result with poll_setup_session."},
	client.CodeIdempotencyInProgress: {Wait, "Call again with the same input in a few seconds."},
	client.CodeIdempotencyMismatch:   {FixInput, "Use another idempotencyKey for another payment."},
	client.CodeRateLimited:           {Wait, "Wait a moment and call again."},
	client.CodeInternal:              {TryAgain, "Call again with the same input: it does not pay twice."},
	client.CodeUnavailable:           {TryAgain, "Call again with the same input: it does not pay twice."},
}

// explain returns err as an [*Error], without secrets.
func (k *Kit) explain(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	var ready *Error
	if !errors.As(err, &ready) {
		ready = explained(err)
	}
	e := *ready
	e.cause = err
	for _, secret := range append(secrets, k.cfg.Token, k.cfg.Mandate) {
		if len(secret) > 8 && !strings.HasPrefix(secret, "del_") {
			e.Message = strings.ReplaceAll(e.Message, secret, "[redacted]")
		}
	}
	return &e
}

func explained(err error) *Error {
	var refused *client.Error
	var unknown *client.UnknownOutcomeError
	var undecided *agent.UndecidedError
	switch {
	case errors.As(err, &unknown), errors.As(err, &undecided), errors.Is(err, agent.ErrAnswerLost):
		return &Error{Code: CodeOutcomeUnknown, Message: "The payment may have been made, and its answer was lost.", Remedy: TryAgain, Next: "Call again with the same input: it repeats the same payment instead of making another."}
	case errors.As(err, &refused):
		e := &Error{Code: string(refused.Code), Message: refused.Message, Remedy: Stop, Next: "Stop, and report this to the person."}
		if a, ok := advice[refused.Code]; ok {
			e.Remedy, e.Next = a.remedy, a.next
		}
		if !refused.RenewsAt.IsZero() {
			e.Message += " The limit renews at " + refused.RenewsAt.UTC().Format("2006-01-02T15:04:05Z") + "."
		}
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Code: CodeTimeout, Message: "The call was canceled or took too long.", Remedy: TryAgain, Next: "Call again with the same input: it does not pay twice."}
	case errors.Is(err, agent.ErrTooExpensive):
		return &Error{Code: CodeTooExpensive, Message: reason(err), Remedy: Confirm, Next: "Ask the person, and call again with a higher maxPriceCents if they agree."}
	case errors.Is(err, agent.ErrBudget):
		return &Error{Code: CodeTooExpensive, Message: reason(err), Remedy: AskPerson, Next: "Ask the person for a mandate with a higher limit."}
	case errors.Is(err, agent.ErrNoMethod):
		return &Error{Code: CodeNotPaid, Message: reason(err), Remedy: NewMandate, Next: "Name a mandate that can pay this seller, or ask the person for one with setup_spending_mandate."}
	case errors.Is(err, agent.ErrTooLarge):
		return &Error{Code: CodeFetchFailed, Message: reason(err), Remedy: Stop, Next: "Do not fetch this again: the answer is too large."}
	}
	return &Error{Code: CodeFetchFailed, Message: reason(err), Remedy: TryAgain, Next: "Check the address, or try again later."}
}

// maxReason limits the text of an error that a stranger's server has a part in.
const maxReason = 600

func reason(err error) string {
	var refused *agent.PaymentError
	if errors.As(err, &refused) {
		err = refused
	}
	text := fmt.Sprint(err)
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}
