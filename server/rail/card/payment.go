package card

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/paywarrant/paywarrant/internal/money"
)

// Maximum lengths, in bytes.
const (
	maxReference   = 255
	maxField       = 255
	maxEmail       = 320
	maxDescription = 500
)

// CustomerParams are the parameters of CreateCustomer.
type CustomerParams struct {
	// Reference identifies the call: 1 to 255 of A–Z a–z 0–9 . _ : - with a letter or
	// digit first. Required.
	Reference string `json:"reference"`
	// Email is the payer's email address. It may be empty.
	Email string `json:"email,omitempty"`
}

// Customer is a payer.
type Customer struct {
	CustomerParams

	// ID is the processor's id of the customer.
	ID string `json:"id"`
	// CreatedAtMillis is when the customer was created, in Unix milliseconds.
	CreatedAtMillis int64 `json:"createdAtMillis"`
}

// MethodParams are the parameters of CreateMethod.
type MethodParams struct {
	// Reference identifies the call, as in [CustomerParams]. Required.
	Reference string `json:"reference"`
	// Customer is the id of the customer. Required.
	Customer string `json:"customer"`
	// Card is the name of one of [TestCards]. Required.
	Card string `json:"card"`
}

// MethodState is the state of a payment method.
type MethodState string

// The states of a payment method. They never change.
const (
	MethodConnected MethodState = "connected"
	MethodRefused   MethodState = "refused"
)

// Method is a payment method.
type Method struct {
	MethodParams

	// ID is the processor's id of the payment method (pm_…).
	ID string `json:"id"`
	// Brand is the card's brand, such as "Visa".
	Brand string `json:"brand"`
	// LastFour are the last four digits of the card.
	LastFour string `json:"lastFour"`
	// State is connected or refused.
	State MethodState `json:"state"`
	// Reason is set if State is refused.
	Reason string `json:"reason,omitempty"`
	// CreatedAtMillis is when the method was created, in Unix milliseconds.
	CreatedAtMillis int64 `json:"createdAtMillis"`
}

// PaymentParams are the parameters of Pay.
type PaymentParams struct {
	// Reference identifies the payment, as in [CustomerParams]. Required.
	Reference string `json:"reference"`
	// Customer is the id of the customer. Required.
	Customer string `json:"customer"`
	// Method is the id of the payment method. Required.
	Method string `json:"method"`
	// Payee is the id of the merchant. Required.
	Payee string `json:"payee"`
	// Mandate is the id of the mandate that pays. It may be empty.
	Mandate string `json:"mandate,omitempty"`
	// AmountCents is the amount in US cents, at least 1. Required.
	AmountCents money.Cents `json:"amountCents"`
	// Description appears on the payer's statement. It may be empty.
	Description string `json:"description,omitempty"`
	// Capture is when an authorized payment is captured. Default: at once.
	Capture CaptureMode `json:"capture,omitempty"`
}

// CaptureMode is when an authorized payment is captured.
type CaptureMode string

const (
	// CaptureAtOnce captures the whole payment when it is authorized.
	CaptureAtOnce CaptureMode = ""
	// CaptureManual only authorizes the payment. Nothing but [Processor.CaptureHeld]
	// captures it.
	CaptureManual CaptureMode = "manual"
)

// CaptureParams are the parameters of CaptureHeld.
type CaptureParams struct {
	// Reference is the reference of a payment that was authorized with [CaptureManual].
	// Required.
	Reference string `json:"reference"`
	// AmountCents is the amount to capture, 1 to the payment's. The rest is released.
	// Required.
	AmountCents money.Cents `json:"amountCents"`
}

// State is the state of a payment.
type State string

// The states of a payment. Only [RequiresCapture] can change.
const (
	RequiresCapture State = "requires_capture" // authorized: the money is held
	Captured        State = "captured"         // the money has moved
	Voided          State = "voided"           // canceled: the money will never move
	Declined        State = "declined"         // refused, when it was authorized or captured: the money will never move
)

// Payment is the payment of a reference. The payment of a reference that was voided before
// it was used has no parameters.
type Payment struct {
	PaymentParams

	// ID is the processor's id of the payment (pay_…).
	ID string `json:"id"`
	// State is the state of the payment.
	State State `json:"state"`
	// Reason is set if State is declined.
	Reason string `json:"reason,omitempty"`
	// CapturedCents is the amount that was captured. It is 0 unless State is captured.
	CapturedCents money.Cents `json:"capturedCents,omitempty"`
	// RefundedCents is the sum of the refunds that were not refused, at most CapturedCents.
	RefundedCents money.Cents `json:"refundedCents,omitempty"`
	// CreatedAtMillis is when the payment was created, in Unix milliseconds.
	CreatedAtMillis int64 `json:"createdAtMillis"`
	// CapturedAtMillis is when the payment was captured, in Unix milliseconds.
	CapturedAtMillis int64 `json:"capturedAtMillis,omitempty"`
}

// Totals are the sums over all payments and refunds of a processor.
type Totals struct {
	// Payments is the number of captured payments.
	Payments int64 `json:"payments"`
	// CapturedCents is the sum that was captured, in US cents.
	CapturedCents money.Cents `json:"capturedCents"`
	// HeldCents is the sum that is held until CaptureHeld or Void, in US cents.
	HeldCents money.Cents `json:"heldCents,omitempty"`
	// Refunds is the number of succeeded refunds.
	Refunds int64 `json:"refunds,omitempty"`
	// RefundedCents is their sum in US cents.
	RefundedCents money.Cents `json:"refundedCents,omitempty"`
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
	if p.Capture != CaptureAtOnce && p.Capture != CaptureManual {
		return fmt.Errorf("capture %q, %q or none is allowed: %w", p.Capture, CaptureManual, ErrInvalid)
	}
	return cmp.Or(
		validAmount(p.AmountCents),
		validText("customer", p.Customer, maxField), validText("method", p.Method, maxField),
		validText("payee", p.Payee, maxField), validText("mandate", p.Mandate, maxField),
		validText("description", p.Description, maxDescription),
	)
}

func (p CaptureParams) validate() error {
	return cmp.Or(validReference(p.Reference), validAmount(p.AmountCents))
}

func validAmount(cents money.Cents) error {
	if cents <= 0 {
		return fmt.Errorf("amountCents %d, at least 1 is required: %w", cents, ErrInvalid)
	}
	return nil
}

// validReference accepts 1 to 255 of A–Z a–z 0–9 . _ : - with a letter or digit first,
// which needs no escaping in a path.
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
