package mpp

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/crypto/sha3"
)

// ChargeRequest is the request of a charge on an EVM chain (draft-evm-charge-00).
type ChargeRequest struct {
	// Amount is the price in base units of the token.
	Amount string `json:"amount"`
	// Currency is the address of the token contract.
	Currency string `json:"currency"`
	// Recipient is the payee's address.
	Recipient string `json:"recipient"`
	// Description is a text for people. Optional.
	Description string `json:"description,omitempty"`
	// MethodDetails are the parameters of EVM chains.
	MethodDetails MethodDetails `json:"methodDetails"`
	// InputSchema describes the endpoint's input to directories. Optional.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// OutputSchema describes the endpoint's output to directories. Optional.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// MethodDetails is the part of a [ChargeRequest] that is specific to EVM chains.
type MethodDetails struct {
	// ChainID is the EIP-155 chain id.
	ChainID int64 `json:"chainId"`
	// CredentialTypes are the accepted types, such as [CredentialAuthorization].
	CredentialTypes []string `json:"credentialTypes,omitempty"`
	// Decimals is the number of decimals of the token.
	Decimals int `json:"decimals,omitzero"`
}

// CredentialAuthorization is the credential type of a signed EIP-3009 authorization.
const CredentialAuthorization = "authorization"

// AuthorizationPayload is the payload of a credential of type [CredentialAuthorization].
type AuthorizationPayload struct {
	// Type is [CredentialAuthorization].
	Type string `json:"type"`
	// From is the payer's address.
	From string `json:"from"`
	// To is the payee's address.
	To string `json:"to"`
	// Value is the amount in base units.
	Value string `json:"value"`
	// ValidAfter is the start of the validity window in Unix seconds, exclusive.
	ValidAfter string `json:"validAfter"`
	// ValidBefore is the end of the validity window in Unix seconds, exclusive.
	ValidBefore string `json:"validBefore"`
	// Nonce is [Challenge.Nonce] of the challenge that is paid.
	Nonce string `json:"nonce"`
	// Signature is the payer's signature, "0x" and hexadecimal.
	Signature string `json:"signature"`
}

// DecodeAuthorization decodes the payload of a credential. It does not validate the
// values. It returns an error if a member is missing or not a string, or if the type is
// not [CredentialAuthorization].
func DecodeAuthorization(payload json.RawMessage) (p AuthorizationPayload, err error) {
	all, err := members(payload)
	if err != nil {
		return p, fmt.Errorf("payload: %w", err)
	}
	for _, f := range []param{
		{"type", &p.Type},
		{"from", &p.From},
		{"to", &p.To},
		{"value", &p.Value},
		{"validAfter", &p.ValidAfter},
		{"validBefore", &p.ValidBefore},
		{"nonce", &p.Nonce},
		{"signature", &p.Signature},
	} {
		if *f.value, err = text(all, f.name); err != nil {
			return p, fmt.Errorf("payload: %w", err)
		}
		if *f.value == "" {
			return p, fmt.Errorf("payload: %s is missing", f.name)
		}
	}
	if p.Type != CredentialAuthorization {
		return p, errors.New("payload: type is not " + CredentialAuthorization)
	}
	return p, nil
}

// Nonce returns the EIP-3009 nonce that binds a signature to the challenge: the keccak256
// of id and realm, "0x" and hexadecimal.
func (c Challenge) Nonce() string {
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(c.ID + c.Realm))
	return "0x" + hex.EncodeToString(h.Sum(nil))
}
