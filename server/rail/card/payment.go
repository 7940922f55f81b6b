package card

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/paywarrant/paywarrant/internal/money"
)

// Limits of what the processor takes, in bytes.
const (
	maxReference   = 255
	maxField       = 255
	maxEmail       = 320
	maxDescription = 500
)

// CustomerParams asks for a customer.
type CustomerParams struct {
	Reference string `json:"reference"`
	Email     string `json:"email,omitempty"`
}

// Customer is a payer.
type Customer struct {
	CustomerParams
	ID              string `json:"id"`
	CreatedAtMillis int64  `json:"createdAtMillis"`
}

// MethodParams asks to connect a card to a customer.
type MethodParams struct {
	Reference string `json:"reference"`
	Customer  string `json:"customer"` // its id
	Card      string `json:"card"`     // the name of one of [TestCards]
}

// MethodState tells whether a payment method may be charged.
type MethodState string

// The states of a payment method; neither is ever left.
const (
	MethodConnected MethodState = "connected"
	MethodRefused   MethodState = "refused"
)

// Method is a payment method.
type Method struct {
	MethodParams
	ID              string      `json:"id"`
	Brand           string      `json:"brand"`
	LastFour        string      `json:"lastFour"`
	State           MethodState `json:"state"`
	Reason          string      `json:"reason,omitempty"` // where refused
	CreatedAtMillis int64       `json:"createdAtMillis"`
}

// PaymentParams asks to move money from a payment method to a payee.
type PaymentParams struct {
	Reference   string      `json:"reference"`
	Customer    string      `json:"customer"` // its id
	Method      string      `json:"method"`   // its id
	Payee       string      `json:"payee"`
	Mandate     string      `json:"mandate,omitempty"`
	AmountCents money.Cents `json:"amountCents"`
	Description string      `json:"description,omitempty"` // for the statement
}

// State is how far a payment has come.
type State string

// The states of a payment. Only [RequiresCapture] is ever left.
const (
	RequiresCapture State = "requires_capture" // authorized: the money is held
	Captured        State = "captured"         // the money has moved
	Voided          State = "voided"           // given up: it never will
	Declined        State = "declined"         // refused: it never will
)

// Payment is what a reference came to. A reference that was voided before
// anything was paid under it has no parameters.
type Payment struct {
	PaymentParams
	ID               string `json:"id"`
	State            State  `json:"state"`
	Reason           string `json:"reason,omitempty"` // where declined
	CreatedAtMillis  int64  `json:"createdAtMillis"`
	CapturedAtMillis int64  `json:"capturedAtMillis,omitempty"`
}

// Totals is all the money that a processor has moved.
type Totals struct {
	Payments      int64       `json:"payments"`
	CapturedCents money.Cents `json:"capturedCents"`
}

func (p CustomerParams) validate() error {
	if err := validReference(p.Reference); err != nil {
		return err
	}
	return validText("email", p.Email, maxEmail)
}

func (p MethodParams) validate() error {
	if err := validReference(p.Reference); err != nil {
		return err
	}
	if err := validText("customer", p.Customer, maxField); err != nil {
		return err
	}
	return validText("card", p.Card, maxField)
}

func (p PaymentParams) validate() error {
	if err := validReference(p.Reference); err != nil {
		return err
	}
	if p.AmountCents <= 0 {
		return fmt.Errorf("amount of %d cents: %w", p.AmountCents, ErrInvalid)
	}
	return cmp.Or(
		validText("customer", p.Customer, maxField), validText("method", p.Method, maxField),
		validText("payee", p.Payee, maxField), validText("mandate", p.Mandate, maxField),
		validText("description", p.Description, maxDescription),
	)
}

// validReference wants 1 to 255 of A–Z a–z 0–9 . _ : - and a letter or digit
// first: what stands in a path as it is.
func validReference(reference string) error {
	if reference == "" || len(reference) > maxReference {
		return fmt.Errorf("reference of %d bytes, 1 to %d are allowed: %w", len(reference), maxReference, ErrInvalid)
	}
	for i := range len(reference) {
		c := reference[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		mark := c == '.' || c == '_' || c == ':' || c == '-'
		if !alphanumeric && (!mark || i == 0) {
			return fmt.Errorf("reference with %q at byte %d: %w", c, i, ErrInvalid)
		}
	}
	return nil
}

func validText(name, value string, limit int) error {
	if len(value) > limit {
		return fmt.Errorf("%s of %d bytes, at most %d are allowed: %w", name, len(value), limit, ErrInvalid)
	}
	if !utf8.ValidString(value) {
		return fmt.Errorf("%s is not UTF-8: %w", name, ErrInvalid)
	}
	return nil
}
