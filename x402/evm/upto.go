package evm

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/x402"
)

// Permit2 returns the address of Permit2, which is the same on every chain.
func Permit2() common.Address {
	return common.HexToAddress("0x000000000022D473030F116dDEE9F6B43aC78BA3")
}

// UptoProxy returns the address of x402UptoPermit2Proxy, the contract that settles the scheme
// upto. It is the same on every chain.
func UptoProxy() common.Address {
	return common.HexToAddress("0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002")
}

// Permit2Domain returns the signing domain of a Permit2, which has no version.
func Permit2Domain(chainID uint64, contract common.Address) Domain {
	return Domain{Name: "Permit2", ChainID: chainID, Contract: contract}
}

// Types that a payment of the scheme upto is made of.
const (
	permissionsType = "TokenPermissions(address token,uint256 amount)"
	witnessType     = "Witness(address to,address facilitator,uint256 validAfter)"
	uptoType        = "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)" +
		permissionsType + witnessType
)

var (
	permissionsTypeHash = crypto.Keccak256Hash([]byte(permissionsType))
	witnessTypeHash     = crypto.Keccak256Hash([]byte(witnessType))
	uptoTypeHash        = crypto.Keccak256Hash([]byte(uptoType))
)

// UptoPermit is a payment of x402's scheme upto: a PermitWitnessTransferFrom of Permit2. The
// facilitator that it names can move any amount up to the permitted one to the payee, once.
type UptoPermit struct {
	// From is the payer, which signs. It is not part of the signed message.
	From common.Address
	// Token is the contract of the token.
	Token common.Address
	// Amount is the largest amount, in base units.
	Amount Uint256
	// Spender is the contract that may use the permit: the proxy of the scheme.
	Spender common.Address
	// Nonce identifies the permit. Permit2 accepts each nonce of a payer once.
	Nonce Uint256
	// Deadline is the last time at which the permit can be used, in Unix seconds.
	Deadline Uint256
	// To is the payee.
	To common.Address
	// Facilitator is the only account that can settle the payment.
	Facilitator common.Address
	// ValidAfter is the first time at which the permit can be used, in Unix seconds.
	ValidAfter Uint256
}

// ParseUpto converts a permit from its x402 form. The returned error names the malformed
// field; it is [ErrNumber] for numbers.
func ParseUpto(a x402.UptoAuthorization) (p UptoPermit, err error) {
	for _, f := range []struct {
		name, text string
		to         *common.Address
	}{
		{"from", a.From, &p.From},
		{"permitted.token", a.Permitted.Token, &p.Token},
		{"spender", a.Spender, &p.Spender},
		{"witness.to", a.Witness.To, &p.To},
		{"witness.facilitator", a.Witness.Facilitator, &p.Facilitator},
	} {
		if err := parseHex(f.to[:], f.text); err != nil {
			return p, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	for _, f := range []struct {
		name, text string
		to         *Uint256
	}{
		{"permitted.amount", a.Permitted.Amount, &p.Amount},
		{"nonce", a.Nonce, &p.Nonce},
		{"deadline", a.Deadline, &p.Deadline},
		{"witness.validAfter", a.Witness.ValidAfter, &p.ValidAfter},
	} {
		if *f.to, err = ParseUint256(f.text); err != nil {
			return p, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return p, nil
}

// Wire returns the permit in its x402 form.
func (p UptoPermit) Wire() x402.UptoAuthorization {
	return x402.UptoAuthorization{
		From: p.From.Hex(), Permitted: x402.UptoPermitted{Token: p.Token.Hex(), Amount: p.Amount.String()}, Spender: p.Spender.Hex(),
		Nonce: p.Nonce.String(), Deadline: p.Deadline.String(),
		Witness: x402.UptoWitness{To: p.To.Hex(), Facilitator: p.Facilitator.Hex(), ValidAfter: p.ValidAfter.String()},
	}
}

func (p UptoPermit) structHash() common.Hash {
	var permissions [3 * word]byte
	copy(permissions[:], permissionsTypeHash[:])
	address(permissions[1*word:], p.Token)
	copy(permissions[2*word:], p.Amount[:])

	var witness [4 * word]byte
	copy(witness[:], witnessTypeHash[:])
	address(witness[1*word:], p.To)
	address(witness[2*word:], p.Facilitator)
	copy(witness[3*word:], p.ValidAfter[:])

	var b [6 * word]byte
	copy(b[:], uptoTypeHash[:])
	copy(b[1*word:], crypto.Keccak256(permissions[:]))
	address(b[2*word:], p.Spender)
	copy(b[3*word:], p.Nonce[:])
	copy(b[4*word:], p.Deadline[:])
	copy(b[5*word:], crypto.Keccak256(witness[:]))
	return crypto.Keccak256Hash(b[:])
}

func (p UptoPermit) typed() (string, []field) {
	return "PermitWitnessTransferFrom", []field{
		{"permitted", "TokenPermissions", []field{
			{"token", "address", p.Token},
			{"amount", "uint256", p.Amount.String()},
		}},
		{"spender", "address", p.Spender},
		{"nonce", "uint256", p.Nonce.String()},
		{"deadline", "uint256", p.Deadline.String()},
		{"witness", "Witness", []field{
			{"to", "address", p.To},
			{"facilitator", "address", p.Facilitator},
			{"validAfter", "uint256", p.ValidAfter.String()},
		}},
	}
}
