package ledger

import (
	"errors"
	"fmt"
)

// What the ledger answers besides a [Refusal].
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("ledger: not found")
	// ErrConflict: a row that was to be new exists. The ledger retries by itself.
	ErrConflict = errors.New("ledger: row exists")
	// ErrIdempotencyMismatch: the key was used for another request.
	ErrIdempotencyMismatch = errors.New("ledger: idempotency key used for another request")
	// ErrRequestKeyMismatch is an ErrIdempotencyMismatch of [Reserve.RequestKey].
	ErrRequestKeyMismatch = fmt.Errorf("%w: the request's own", ErrIdempotencyMismatch)
	// ErrIdempotencyInProgress: the key's first request is still running.
	ErrIdempotencyInProgress = errors.New("ledger: idempotency key in progress")
	// ErrCheckoutFinished reports that a checkout has its charge, or was refused one.
	ErrCheckoutFinished = errors.New("ledger: checkout is finished")
	// ErrConflictingOutcome reports that a rail's outcome differs from the one that
	// decided the charge. The charge is unchanged, and the conflict is recorded.
	ErrConflictingOutcome = errors.New("ledger: outcome conflicts with the one that decided the charge")
	// ErrSessionFinished: a finished session never changes again.
	ErrSessionFinished = errors.New("ledger: session is finished")
	// ErrWidened: a person may narrow what a session asks for, never widen it.
	ErrWidened = errors.New("ledger: terms wider than the session's")
	// ErrBusy: the queue is full; nothing was done, try again shortly.
	ErrBusy = errors.New("ledger: too many commands waiting")
	// ErrUnavailable: the database does not answer, or cannot write now. Whether
	// the command was done is unknown; done again, it is done once.
	ErrUnavailable = errors.New("ledger: database unavailable")
	// ErrClosed: the ledger is closed.
	ErrClosed = errors.New("ledger: closed")
	// ErrPanicked reports a command whose decision or transaction panicked. Nothing of it was written.
	ErrPanicked = errors.New("ledger: panic")
	// ErrInvariant: a row breaks a rule of the ledger. Nothing was written.
	ErrInvariant = errors.New("ledger: invariant broken")
)

// RefusalCode is a rule that refused a charge; its text is the wire code.
type RefusalCode string

// The refusals, in the order in which they are looked for.
const (
	MerchantInactive   RefusalCode = "merchant_inactive"
	MerchantLimit      RefusalCode = "merchant_limit_exceeded"
	MandateInvalid     RefusalCode = "mandate_invalid"
	MandateIsRevoked   RefusalCode = "mandate_revoked"
	MandateExpired     RefusalCode = "mandate_expired"
	MerchantNotAllowed RefusalCode = "merchant_not_allowed"
	PerTxLimit         RefusalCode = "per_tx"
	MonthlyLimit       RefusalCode = "monthly"
	// ReceiptRedeemed is of receipts, not of charges.
	ReceiptRedeemed RefusalCode = "already_redeemed"
)

// Refusal is a charge that was refused before any rail was asked.
type Refusal struct {
	Code RefusalCode `json:"code"`
	// Limit is the limit that refused it, where one did.
	Limit Micros `json:"limit,omitempty"`
	// Remaining is what is left this month, with MonthlyLimit.
	Remaining Micros `json:"remaining,omitempty"`
	// RequestID is of the request that was refused first.
	RequestID string `json:"requestId"`
	// Replayed tells that an earlier request with the same key was refused so.
	Replayed bool `json:"-"`
}

func (r *Refusal) Error() string { return "ledger: refused: " + string(r.Code) }
