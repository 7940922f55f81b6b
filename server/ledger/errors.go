package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// The errors of the ledger besides [Refusal].
var (
	// ErrNotFound reports that there is no such row.
	ErrNotFound = errors.New("ledger: not found")
	// ErrConflict reports that a new row exists already. The ledger retries such commands.
	ErrConflict = errors.New("ledger: row exists")
	// ErrIdempotencyMismatch reports that the key was used for a different request.
	ErrIdempotencyMismatch = errors.New("ledger: idempotency key used for another request")
	// ErrRequestKeyMismatch is the ErrIdempotencyMismatch of [Reserve.RequestKey].
	ErrRequestKeyMismatch = fmt.Errorf("%w: the request's own", ErrIdempotencyMismatch)
	// ErrIdempotencyInProgress reports that the first request with the key is still running.
	ErrIdempotencyInProgress = errors.New("ledger: idempotency key in progress")
	// ErrCheckoutFinished reports that a checkout has its charge, or was refused one.
	ErrCheckoutFinished = errors.New("ledger: checkout is finished")
	// ErrConflictingOutcome reports that a rail's outcome differs from the one that
	// decided the charge. The charge is unchanged, and the conflict is recorded.
	ErrConflictingOutcome = errors.New("ledger: outcome conflicts with the one that decided the charge")
	// ErrSessionFinished reports a session that has ended and cannot change.
	ErrSessionFinished = errors.New("ledger: session is finished")
	// ErrWidened reports terms wider than those of the session.
	ErrWidened = errors.New("ledger: terms wider than the session's")
	// ErrBusy reports a full queue. Nothing was done; try again shortly.
	ErrBusy = errors.New("ledger: too many commands waiting")
	// ErrUnavailable reports a database that does not answer or cannot write. It is
	// unknown whether the command was done; repeating it does it at most once.
	ErrUnavailable = errors.New("ledger: database unavailable")
	// ErrClosed reports a closed ledger.
	ErrClosed = errors.New("ledger: closed")
	// ErrPanicked reports a panic in a command's decision or transaction. Nothing was written.
	ErrPanicked = errors.New("ledger: panic")
	// ErrInvariant reports a row that breaks a rule of the ledger. Nothing was written.
	ErrInvariant = errors.New("ledger: invariant broken")
)

// RefusalCode names the rule that refused a charge. It is the code of the API.
type RefusalCode string

// The refusals, in the order in which the rules are checked.
const (
	MerchantInactive   RefusalCode = "merchant_inactive"
	MerchantLimit      RefusalCode = "merchant_limit_exceeded"
	MandateInvalid     RefusalCode = "mandate_invalid"
	MandateIsRevoked   RefusalCode = "mandate_revoked"
	MandateExpired     RefusalCode = "mandate_expired"
	MandateIsPaused    RefusalCode = "mandate_paused"
	MerchantNotAllowed RefusalCode = "merchant_not_allowed"
	PerTxLimit         RefusalCode = "per_tx"
	DailyLimit         RefusalCode = "daily"
	MonthlyLimit       RefusalCode = "monthly"
	TotalLimit         RefusalCode = "total"
	VelocityLimit      RefusalCode = "velocity"
	PayeeLimit         RefusalCode = "payee_limit"
	// ReceiptRedeemed refuses a receipt, not a charge.
	ReceiptRedeemed RefusalCode = "already_redeemed"
)

// Refusal is a charge that was refused before any rail was asked.
type Refusal struct {
	// Code is the rule that refused the charge.
	Code RefusalCode `json:"code"`
	// Limit is the limit that the charge exceeds, if any.
	Limit Micros `json:"limit,omitempty"`
	// Remaining is the rest of the limit, if the charge exceeds that of a period.
	Remaining Micros `json:"remaining,omitempty"`
	// MaxPayments is the limit with VelocityLimit. Nothing of it is left.
	MaxPayments int64 `json:"maxPayments,omitempty"`
	// Holds is set if the limit has room for a draw, but not for a new block: it is the least
	// that a card holds.
	Holds Micros `json:"holds,omitempty"`
	// RenewsAt is the time at which the limit renews; zero if it does not.
	RenewsAt time.Time `json:"renewsAt,omitzero"`
	// RequestID identifies the request that was refused first.
	RequestID string `json:"requestId"`
	// Replayed reports that an earlier request with the same key was refused.
	Replayed bool `json:"-"`
}

// renews reports whether a window refused the charge: another mandate, or the same one later,
// may pay.
func (r *Refusal) renews() bool {
	return r.Code == PayeeLimit || slices.Contains(WindowKinds, r.Code)
}

func (r *Refusal) Error() string { return "ledger: refused: " + string(r.Code) }
