package mandate

import (
	"errors"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// Classes of refusals, for errors.Is. Every [*Error] is of exactly one.
var (
	// ErrMalformed is a text that is no token at all.
	ErrMalformed = errors.New("malformed mandate")
	// ErrInvalid is a well-formed token that proves nothing: signature, key, issuer, claims or binding.
	ErrInvalid = errors.New("invalid mandate")
	// ErrExpired is a mandate that is over.
	ErrExpired = errors.New("mandate expired")
	// ErrRevoked is a mandate that was taken back.
	ErrRevoked = errors.New("mandate revoked")
	// ErrPerTxLimit is a payment above the per-transaction limit.
	ErrPerTxLimit = errors.New("amount above the per-transaction limit")
	// ErrPayeeNotAllowed is a payment to somebody whom the mandate does not name.
	ErrPayeeNotAllowed = errors.New("payee not allowed")
	// ErrRailNotAllowed is a payment by a rail that the mandate does not have.
	ErrRailNotAllowed = errors.New("rail not allowed")
	// ErrBadPayment is a payment that is none, whatever the mandate.
	ErrBadPayment = errors.New("bad payment")
	// ErrUnavailable is no verdict: keys or status cannot be read now. Nothing
	// may be allowed on it; asking again later may help.
	ErrUnavailable = errors.New("mandate cannot be checked now")
)

// Error is a refusal. It never carries text of the token.
type Error struct {
	// Reason is the rule that was broken.
	Reason Reason
	// Err is the cause where there is one beyond the token, nil otherwise.
	Err error
}

func (e *Error) Error() string {
	s := "mandate: " + string(e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether target is the class of the error, or an [*Error] of the same reason.
func (e *Error) Is(target error) bool {
	if t, ok := target.(*Error); ok {
		return t.Reason == e.Reason
	}
	return e.class().outside().sentinel == target
}

// HTTPStatus is the status that a service answers with.
func (e *Error) HTTPStatus() int { return e.class().outside().status }

// Code is the error code of the merchant API.
func (e *Error) Code() string { return e.class().outside().code }

// AP2Code is the code of AP2's mandate errors that comes nearest; empty where
// AP2 has none.
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
	classInvalid class = iota // what is not named in [Error.class]
	classMalformed
	classExpired
	classRevoked
	classPerTx
	classPayee
	classRail
	classPayment
	classUnavailable
)

// outside is how a class of refusals shows itself to others.
type outside struct {
	sentinel  error
	status    int
	code, ap2 string
}

// outside is the one mapping of refusals to the outside. A revoked mandate is
// told to AP2 as expired: AP2 has no code of its own for it.
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

// wrap gives a refusal of the lower layer its public form.
func wrap(err error) error {
	if e := (*sdjwt.Error)(nil); errors.As(err, &e) {
		return refuse(Reason(e.Reason))
	}
	return err
}
