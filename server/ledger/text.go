package ledger

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/text"
)

// ErrText reports text that cannot be stored: invalid UTF-8, too long, or with control
// characters. The error is a [*TextError]. Nothing was written.
var ErrText = errors.New("ledger: text")

// TextError names the field of an [ErrText].
type TextError struct {
	// Field is the name of the field.
	Field string
	// Problem describes the error: "must be valid UTF-8".
	Problem string
}

func (e *TextError) Error() string { return "ledger: " + e.Field + " " + e.Problem }

// Unwrap returns ErrText.
func (e *TextError) Unwrap() error { return ErrText }

// The longest texts, in characters. The edge allows less.
const (
	longestText = 1000 // descriptions, URLs, values
	longestName = 255  // names, keys, ids
)

// line checks one field.
func line(field, value string, longest int) error {
	if err := text.Check(value, longest); err != nil {
		return &TextError{Field: field, Problem: err.Error()}
	}
	return nil
}

// pairs checks metadata.
func pairs(field string, values map[string]string) error {
	for k, v := range values {
		if err := cmp.Or(line(field, k, longestName), line(field, v, longestText)); err != nil {
			return err
		}
	}
	return nil
}

// validate checks the texts of a reservation.
func (r Reserve) validate() error {
	err := cmp.Or(
		line("description", r.Description, longestText), line("resource", r.Resource, longestText),
		line("idempotencyKey", r.IdempotencyKey, longestName), line("idempotencyKey", r.RequestKey.Key, longestName),
		line("mandate", r.MandateID, longestName), line("currency", r.Currency, longestName), line("payTo", r.PayTo, longestName),
		line("payee", r.Payee.ID, longestName), line("fingerprint", r.Fingerprint, longestText), pairs("metadata", r.Metadata),
	)
	switch {
	case r.Amount <= 0:
		return fmt.Errorf("%w: amount must be above zero", ErrInvariant)
	case r.Draw != nil && (r.Draw.TabID == "" || r.Draw.Block < CardMinimum || r.Hold > 0):
		return fmt.Errorf("%w: a draw needs the id of a tab and a block of %d micros or more", ErrInvariant, CardMinimum)
	case r.Hold < 0 || r.Hold > MaxHold:
		return fmt.Errorf("%w: an amount is held for %s, at most %s", ErrInvariant, r.Hold, MaxHold)
	}
	return err
}

// validate checks the texts and numbers of a capture.
func (r Capture) validate() error {
	err := cmp.Or(
		line("idempotencyKey", r.IdempotencyKey, longestName), line("fingerprint", r.Fingerprint, longestText),
		line("transactionId", r.ChargeID, longestName),
	)
	if u := r.Usage; u != nil && err == nil {
		if u.Quantity < 0 || u.UnitPrice < 0 {
			return fmt.Errorf("%w: usage must not be negative", ErrInvariant)
		}
		err = line("usage.unit", u.Unit, longestName)
	}
	return err
}

func (s Session) validate() error {
	return cmp.Or(line("returnUrl", s.ReturnURL, 2*longestText), pairs("metadata", s.Metadata))
}

func (c Checkout) validate(s Session) error {
	if c.Amount <= 0 {
		return fmt.Errorf("%w: amount must be above zero", ErrInvariant)
	}
	return cmp.Or(line("description", c.Description, longestText), line("returnUrl", c.ReturnURL, 2*longestText), s.validate())
}

// Validate returns a [*TextError] if a text of the account cannot be stored.
func (m Merchant) Validate() error {
	return cmp.Or(
		line("name", m.Name, longestName), line("website", m.Website, longestText), line("email", m.Email, longestName), line("payTo", m.PayTo, longestName),
	)
}
