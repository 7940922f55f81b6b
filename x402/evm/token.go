package evm

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/x402"
)

// transferTypeHash is the hash of TransferWithAuthorization(address from,address to,
// uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce).
const transferTypeHash = "\x7c\x7c\x6c\xdb\x67\xa1\x87\x43\xf4\x9e\xc6\xfa\x9b\x35\xf5\x0d\x52\xed\x05\xcb\xed\x4c\xc5\x92\xe1\x3b\x44\x50\x1c\x1a\x22\x67"

// permitTypeHash is the hash of Permit(address owner,address spender,uint256 value,
// uint256 nonce,uint256 deadline).
const permitTypeHash = "\x6e\x71\xed\xae\x12\xb1\xb9\x7f\x4d\x1f\x60\x37\x0f\xef\x10\x10\x5f\xa2\xfa\xae\x01\x26\x11\x4a\x16\x9c\x64\x84\x5d\x61\x26\xc9"

// TransferAuthorization is a TransferWithAuthorization of EIP-3009. Any holder of the
// signature can execute the transfer, once.
type TransferAuthorization struct {
	// From is the payer, which signs.
	From common.Address
	// To is the payee.
	To common.Address
	// Value is the amount in base units.
	Value Uint256
	// ValidAfter is the start of the validity window in Unix seconds, exclusive.
	ValidAfter Uint256
	// ValidBefore is the end of the validity window in Unix seconds, exclusive.
	ValidBefore Uint256
	// Nonce identifies the authorization. The token accepts each nonce of a payer once.
	Nonce common.Hash
}

// ParseAuthorization converts an authorization from its x402 form. The returned error
// names the malformed field; it is [ErrNumber] for numbers.
func ParseAuthorization(a x402.Authorization) (t TransferAuthorization, err error) {
	for _, f := range []struct {
		name, text string
		to         *common.Address
	}{{"from", a.From, &t.From}, {"to", a.To, &t.To}} {
		if err := parseHex(f.to[:], f.text); err != nil {
			return t, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := parseHex(t.Nonce[:], a.Nonce); err != nil {
		return t, fmt.Errorf("nonce: %w", err)
	}
	for _, f := range []struct {
		name, text string
		to         *Uint256
	}{{"value", a.Value, &t.Value}, {"validAfter", a.ValidAfter, &t.ValidAfter}, {"validBefore", a.ValidBefore, &t.ValidBefore}} {
		if *f.to, err = ParseUint256(f.text); err != nil {
			return t, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return t, nil
}

// Wire returns the authorization in its x402 form.
func (t TransferAuthorization) Wire() x402.Authorization {
	return x402.Authorization{
		From: t.From.Hex(), To: t.To.Hex(), Value: t.Value.String(),
		ValidAfter: t.ValidAfter.String(), ValidBefore: t.ValidBefore.String(), Nonce: t.Nonce.Hex(),
	}
}

func (t TransferAuthorization) structHash() common.Hash {
	var b [7 * word]byte
	copy(b[:], transferTypeHash)
	address(b[1*word:], t.From)
	address(b[2*word:], t.To)
	copy(b[3*word:], t.Value[:])
	copy(b[4*word:], t.ValidAfter[:])
	copy(b[5*word:], t.ValidBefore[:])
	copy(b[6*word:], t.Nonce[:])
	return crypto.Keccak256Hash(b[:])
}

func (t TransferAuthorization) typed() (string, []field) {
	return "TransferWithAuthorization", []field{
		{"from", "address", t.From},
		{"to", "address", t.To},
		{"value", "uint256", t.Value.String()},
		{"validAfter", "uint256", t.ValidAfter.String()},
		{"validBefore", "uint256", t.ValidBefore.String()},
		{"nonce", "bytes32", t.Nonce},
	}
}

// Permit is a Permit of EIP-2612, which sets an allowance.
type Permit struct {
	// Owner is the account whose tokens may be spent. It signs.
	Owner common.Address
	// Spender is the account that may spend them.
	Spender common.Address
	// Value is the allowance in base units.
	Value Uint256
	// Nonce is the owner's current nonce at the token.
	Nonce Uint256
	// Deadline is the last time at which the permit is accepted, in Unix seconds.
	Deadline Uint256
}

func (p Permit) structHash() common.Hash {
	var b [6 * word]byte
	copy(b[:], permitTypeHash)
	address(b[1*word:], p.Owner)
	address(b[2*word:], p.Spender)
	copy(b[3*word:], p.Value[:])
	copy(b[4*word:], p.Nonce[:])
	copy(b[5*word:], p.Deadline[:])
	return crypto.Keccak256Hash(b[:])
}

func (p Permit) typed() (string, []field) {
	return "Permit", []field{
		{"owner", "address", p.Owner},
		{"spender", "address", p.Spender},
		{"value", "uint256", p.Value.String()},
		{"nonce", "uint256", p.Nonce.String()},
		{"deadline", "uint256", p.Deadline.String()},
	}
}
