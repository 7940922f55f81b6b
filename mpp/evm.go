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
	Amount        string        `json:"amount"`   // base units of the token
	Currency      string        `json:"currency"` // token contract
	Recipient     string        `json:"recipient"`
	Description   string        `json:"description,omitempty"`
	MethodDetails MethodDetails `json:"methodDetails"`
	// InputSchema and OutputSchema describe the endpoint to directories.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// MethodDetails is the EVM part of a [ChargeRequest].
type MethodDetails struct {
	ChainID         int64    `json:"chainId"`
	CredentialTypes []string `json:"credentialTypes,omitempty"`
	Decimals        int      `json:"decimals,omitempty"`
}

// CredentialAuthorization is the credential type of a signed EIP-3009 authorization.
const CredentialAuthorization = "authorization"

// AuthorizationPayload is the payload of a credential of type [CredentialAuthorization].
type AuthorizationPayload struct {
	Type        string `json:"type"`
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
	Signature   string `json:"signature"`
}

// DecodeAuthorization reads the payload of a credential, its members by their
// exact names and all of them strings. It does not judge their values. An error
// where one is missing, or the type is another.
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

// Nonce is the EIP-3009 nonce that binds a signature to the challenge:
// keccak256 of id and realm, "0x" and hexadecimal.
func (c Challenge) Nonce() string {
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(c.ID + c.Realm))
	return "0x" + hex.EncodeToString(h.Sum(nil))
}
