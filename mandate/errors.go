package mandate

import (
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// Classes of refusals, for errors.Is. Every [*Error] belongs to exactly one.
var (
	// ErrMalformed reports a text that is not a token.
	ErrMalformed = errors.New("malformed mandate")
	// ErrInvalid reports a well-formed token that proves nothing: its signature, key,
	// issuer, claims or binding is wrong.
	ErrInvalid = errors.New("invalid mandate")
	// ErrExpired reports a mandate that has expired.
	ErrExpired = errors.New("mandate expired")
	// ErrRevoked reports a mandate that was revoked.
	ErrRevoked = errors.New("mandate revoked")
	// ErrPerTxLimit reports a payment above the limit per payment.
	ErrPerTxLimit = errors.New("amount above the per-transaction limit")
	// ErrPayeeNotAllowed reports a payment to a merchant that the mandate does not list.
	ErrPayeeNotAllowed = errors.New("payee not allowed")
	// ErrRailNotAllowed reports a payment on a rail that the mandate does not have.
	ErrRailNotAllowed = errors.New("rail not allowed")
	// ErrBadPayment reports a payment that no mandate could allow, such as a non-positive
	// amount.
	ErrBadPayment = errors.New("bad payment")
	// ErrUnavailable reports that the mandate cannot be checked, because keys or status are
	// not available now. Allow nothing, and retry later.
	ErrUnavailable = errors.New("mandate cannot be checked now")
)

// Error is a refusal. It never contains text of the token.
type Error struct {
	// Reason is the rule that was broken.
	Reason Reason
	// Err is the cause if it is outside the token, such as a network error. Otherwise it is nil.
	Err error
}

func (e *Error) Error() string {
	s := "mandate: " + string(e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the class of the error, or an [*Error] with the same reason.
func (e *Error) Is(target error) bool {
	if t, ok := target.(*Error); ok {
		return t.Reason == e.Reason
	}
	return e.class().outside().sentinel == target
}

// HTTPStatus returns the status for an HTTP response.
func (e *Error) HTTPStatus() int { return e.class().outside().status }

// Code returns the error code of the merchant API.
func (e *Error) Code() string { return e.class().outside().code }

// AP2Code returns the closest code of AP2's mandate errors, or "" if there is none.
func (e *Error) AP2Code() string {
	switch e.Reason {
	case KBMissing:
		return "mandate_required"
	case BadCnf:
		return "agent_missing_key"
	case BadLimits, BadConstraints, ConstraintsMismatch, KBBadTransactionData:
		return "mandate_scope_mismatch"
	default:
		return e.class().outside().ap2
	}
}

type class uint8

const (
	classInvalid class = iota // all reasons that [Error.class] does not list
	classMalformed
	classExpired
	classRevoked
	classPerTx
	classPayee
	classRail
	classPayment
	classUnavailable
)

// outside is the public form of a class of refusals.
type outside struct {
	sentinel  error
	status    int
	code, ap2 string
}

// outside maps a class to its public form. AP2 has no code for a revoked mandate, so it
// becomes AP2's expired.
func (c class) outside() outside {
	switch c {
	case classMalformed:
		return outside{ErrMalformed, http.StatusBadRequest, "validation_error", "mandate_invalid_signature"}
	case classExpired:
		return outside{ErrExpired, http.StatusForbidden, "mandate_expired", "mandate_expired"}
	case classRevoked:
		return outside{ErrRevoked, http.StatusForbidden, "mandate_revoked", "mandate_expired"}
	case classPerTx:
		return outside{ErrPerTxLimit, http.StatusPaymentRequired, "per_tx", "mandate_scope_mismatch"}
	case classPayee:
		return outside{ErrPayeeNotAllowed, http.StatusForbidden, "merchant_not_allowed", "mandate_scope_mismatch"}
	case classRail:
		return outside{ErrRailNotAllowed, http.StatusPaymentRequired, "rail_unavailable", "mandate_scope_mismatch"}
	case classPayment:
		return outside{ErrBadPayment, http.StatusBadRequest, "validation_error", ""}
	case classUnavailable:
		return outside{ErrUnavailable, http.StatusServiceUnavailable, "unavailable", ""}
	default: // classInvalid
		return outside{ErrInvalid, http.StatusForbidden, "mandate_invalid", "mandate_invalid_signature"}
	}
}

func (e *Error) class() class {
	switch e.Reason {
	case TooLarge, BadFormat, BadBase64URL, BadJSON, DuplicateKey:
		return classMalformed
	case Expired:
		return classExpired
	case Revoked:
		return classRevoked
	case PerTx:
		return classPerTx
	case PayeeNotAllowed:
		return classPayee
	case RailNotAllowed:
		return classRail
	case BadAmount:
		return classPayment
	case KeysUnavailable, StatusUnavailable:
		return classUnavailable
	default:
		return classInvalid
	}
}

func refuse(r Reason) error { return &Error{Reason: r} }

// wrap converts a refusal of package sdjwt to an [*Error].
func wrap(err error) error {
	if e := (*sdjwt.Error)(nil); errors.As(err, &e) {
		return refuse(Reason(e.Reason))
	}
	return err
}
