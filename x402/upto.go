package x402

import (
	"strings"
	"time"
)

// Keys of Extra that the scheme upto adds.
const (
	// ExtraTransferMethod names how the token moves: [TransferPermit2], always.
	ExtraTransferMethod = "assetTransferMethod"
	// ExtraFacilitator is the address of the facilitator that settles, which the payer signs.
	ExtraFacilitator = "facilitatorAddress"
)

// TransferPermit2 is the value of [ExtraTransferMethod] for transfers through Permit2.
const TransferPermit2 = "permit2"

// UptoAuthorization is a permit of the scheme upto, which the payer signs: a
// PermitWitnessTransferFrom of Permit2. Numbers are decimal strings.
type UptoAuthorization struct {
	// From is the payer's address.
	From string `json:"from"`
	// Permitted is the token and the largest amount.
	Permitted UptoPermitted `json:"permitted"`
	// Spender is the address of the contract that settles the scheme.
	Spender string `json:"spender"`
	// Nonce is a number. Permit2 accepts each nonce of a payer once.
	Nonce string `json:"nonce"`
	// Deadline is the last time at which the payment can be settled, in Unix seconds.
	Deadline string `json:"deadline"`
	// Witness binds the payment to payee and facilitator.
	Witness UptoWitness `json:"witness"`
}

// UptoPermitted is the token of an [UptoAuthorization], and the largest amount.
type UptoPermitted struct {
	// Token is the address of the token contract.
	Token string `json:"token"`
	// Amount is the largest amount, in base units.
	Amount string `json:"amount"`
}

// UptoWitness is what an [UptoAuthorization] is bound to.
type UptoWitness struct {
	// To is the payee's address.
	To string `json:"to"`
	// Facilitator is the address that alone can settle the payment.
	Facilitator string `json:"facilitator"`
	// ValidAfter is the first time at which the payment can be settled, in Unix seconds.
	ValidAfter string `json:"validAfter"`
}

// Upto is the payload of the scheme upto on EVM chains.
type Upto struct {
	// Signature is the payer's signature, "0x" and hexadecimal: 65 bytes, or the longer
	// one of a contract wallet.
	Signature string `json:"signature"`
	// Authorization is what was signed.
	Authorization UptoAuthorization `json:"permit2Authorization"`
}

func (a *UptoAuthorization) fields() [9]authorizationField {
	return [9]authorizationField{
		{"from", &a.From, isAddress, "an address"},
		{"permitted.token", &a.Permitted.Token, isAddress, "an address"},
		{"permitted.amount", &a.Permitted.Amount, IsAmount, "an amount in base units"},
		{"spender", &a.Spender, isAddress, "an address"},
		{"nonce", &a.Nonce, IsAmount, "a number"},
		{"deadline", &a.Deadline, IsAmount, "a time in seconds"},
		{"witness.to", &a.Witness.To, isAddress, "an address"},
		{"witness.facilitator", &a.Witness.Facilitator, isAddress, "an address"},
		{"witness.validAfter", &a.Witness.ValidAfter, IsAmount, "a time in seconds"},
	}
}

// Validate returns a [*DecodeError] that names the field if the payload is malformed.
// Decoded payloads are already valid.
func (u Upto) Validate() error {
	if err := checkSignature(u.Signature, "signature"); err != nil {
		return err
	}
	for _, f := range u.Authorization.fields() {
		if !f.valid(*f.value) {
			return malformed("permit2Authorization."+f.name, "not %s", f.want)
		}
	}
	return nil
}

// Exact returns the authorization in the form of the scheme exact, for an amount: payer,
// payee, amount and window. The nonce is empty, and the window is the permit's without its
// last second.
func (a UptoAuthorization) Exact(amount string) Authorization {
	return Authorization{From: a.From, To: a.Witness.To, Value: amount, ValidAfter: a.Witness.ValidAfter, ValidBefore: a.Deadline}
}

// DeadlineTime returns the last time at which the payment can be settled, clamped to the
// latest representable time.
func (a UptoAuthorization) DeadlineTime() time.Time { return unix(a.Deadline) }

// CheckWindow returns "" if the payment can be settled now, or else [ReasonUptoEarly] or
// [ReasonUptoExpired]. The last second of the window does not count.
func (a UptoAuthorization) CheckWindow(now time.Time) Reason {
	switch {
	case now.Before(unix(a.Witness.ValidAfter)):
		return ReasonUptoEarly
	case !now.Before(unix(a.Deadline)):
		return ReasonUptoExpired
	}
	return ""
}

func decodeUpto(o *object) (u Upto, err error) {
	inner, err := o.object("payload")
	if err != nil {
		return u, err
	}
	if u.Signature, err = inner.text("signature"); err != nil {
		return u, err
	}
	if err := checkSignature(u.Signature, inner.at("signature")); err != nil {
		return u, err
	}
	a, err := inner.object("permit2Authorization")
	if err != nil {
		return u, err
	}
	parts := map[string]*object{"": a}
	for _, name := range []string{"permitted", "witness"} {
		if parts[name], err = a.object(name); err != nil {
			return u, err
		}
	}
	for _, f := range u.Authorization.fields() {
		part, name, nested := strings.Cut(f.name, ".")
		if !nested {
			part, name = "", f.name
		}
		from := parts[part]
		if *f.value, err = from.text(name); err != nil {
			return u, err
		}
		if !f.valid(*f.value) {
			return u, malformed(from.at(name), "not %s", f.want)
		}
	}
	return u, nil
}
