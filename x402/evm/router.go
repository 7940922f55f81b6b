package evm

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// grantTypeHash is the hash of Grant(address owner,address token,address sessionKey,
// uint96 maxPerCharge,uint96 maxPerMonth,uint64 expiresAt,bool anyPayee,
// address[] payees,bytes32 salt).
const grantTypeHash = "\x99\x21\x04\xf6\xc7\x4c\x13\x3e\x0d\x85\x14\xb1\x57\xbc\xb1\x5b\x0d\x23\xb5\x9e\x2f\x13\x7f\x19\x73\x24\x3a\x67\x5f\x1a\x1a\x68"

// chargeTypeHash is the hash of Charge(bytes32 grantId,address payee,uint256 amount,
// bytes32 ref,uint256 deadline).
const chargeTypeHash = "\x68\xab\xb0\x46\xb2\x08\xfd\xf0\x28\xe4\x37\x86\x30\x7f\x09\x55\xe6\x17\xb1\x83\x9a\x49\x0b\x17\x2e\xf2\xff\xfb\x0c\xc2\x08\xd8"

// revokeTypeHash is the hash of Revoke(bytes32 grantId).
const revokeTypeHash = "\x47\xa1\x43\x07\xa9\x49\x60\x21\x4a\x34\x45\x00\x38\x38\xae\x50\x4b\x3c\x52\x1c\xd0\x0f\x98\xad\x28\x2d\xe1\xb0\x02\xba\x97\xb1"

// Grant allows a session key to charge an owner's tokens through the mandate router. The
// owner signs it.
type Grant struct {
	// Owner is the account that pays.
	Owner common.Address
	// Token is the contract of the token that is charged.
	Token common.Address
	// SessionKey is the address of the key that signs charges.
	SessionKey common.Address
	// MaxPerCharge is the largest charge, in base units.
	MaxPerCharge uint64
	// MaxPerMonth is the limit for a calendar month, in base units.
	MaxPerMonth uint64
	// ExpiresAt is the end of the grant in Unix seconds, exclusive.
	ExpiresAt uint64
	// Payees are the accounts that may be paid. Empty means any account.
	Payees []common.Address
	// Salt distinguishes the grants of one owner.
	Salt common.Hash
}

// AnyPayee reports whether any account may be paid.
func (g Grant) AnyPayee() bool { return len(g.Payees) == 0 }

// ID returns the id of the grant on a router of a chain.
func (g Grant) ID(chainID uint64, router common.Address) common.Hash {
	var b [4 * word]byte
	number(b[:], chainID)
	address(b[1*word:], router)
	address(b[2*word:], g.Owner)
	copy(b[3*word:], g.Salt[:])
	return crypto.Keccak256Hash(b[:])
}

func (g Grant) structHash() common.Hash {
	payees := make([]byte, word*len(g.Payees))
	for i, payee := range g.Payees {
		address(payees[i*word:], payee)
	}
	hash := crypto.Keccak256Hash(payees)
	var b [10 * word]byte
	copy(b[:], grantTypeHash)
	address(b[1*word:], g.Owner)
	address(b[2*word:], g.Token)
	address(b[3*word:], g.SessionKey)
	number(b[4*word:], g.MaxPerCharge)
	number(b[5*word:], g.MaxPerMonth)
	number(b[6*word:], g.ExpiresAt)
	if g.AnyPayee() {
		number(b[7*word:], 1)
	}
	copy(b[8*word:], hash[:])
	copy(b[9*word:], g.Salt[:])
	return crypto.Keccak256Hash(b[:])
}

func (g Grant) typed() (string, []field) {
	payees := g.Payees
	if payees == nil {
		payees = []common.Address{} // JSON: [], not null
	}
	return "Grant", []field{
		{"owner", "address", g.Owner},
		{"token", "address", g.Token},
		{"sessionKey", "address", g.SessionKey},
		{"maxPerCharge", "uint96", decimal(g.MaxPerCharge)},
		{"maxPerMonth", "uint96", decimal(g.MaxPerMonth)},
		{"expiresAt", "uint64", decimal(g.ExpiresAt)},
		{"anyPayee", "bool", g.AnyPayee()},
		{"payees", "address[]", payees},
		{"salt", "bytes32", g.Salt},
	}
}

// Charge is one payment under a [Grant]. The session key signs it.
type Charge struct {
	// GrantID is the id of the grant; see [Grant.ID].
	GrantID common.Hash
	// Payee is the account that is paid.
	Payee common.Address
	// Amount is the amount in base units.
	Amount uint64
	// Ref identifies the charge. The router accepts each one once.
	Ref common.Hash
	// Deadline is the last time at which the charge is accepted, in Unix seconds.
	Deadline uint64
}

func (c Charge) structHash() common.Hash {
	var b [6 * word]byte
	copy(b[:], chargeTypeHash)
	copy(b[1*word:], c.GrantID[:])
	address(b[2*word:], c.Payee)
	number(b[3*word:], c.Amount)
	copy(b[4*word:], c.Ref[:])
	number(b[5*word:], c.Deadline)
	return crypto.Keccak256Hash(b[:])
}

func (c Charge) typed() (string, []field) {
	return "Charge", []field{
		{"grantId", "bytes32", c.GrantID},
		{"payee", "address", c.Payee},
		{"amount", "uint256", decimal(c.Amount)},
		{"ref", "bytes32", c.Ref},
		{"deadline", "uint256", decimal(c.Deadline)},
	}
}

// Revoke ends a [Grant]. The owner signs it.
type Revoke struct {
	// GrantID is the id of the grant; see [Grant.ID].
	GrantID common.Hash
}

func (r Revoke) structHash() common.Hash {
	var b [2 * word]byte
	copy(b[:], revokeTypeHash)
	copy(b[1*word:], r.GrantID[:])
	return crypto.Keccak256Hash(b[:])
}

func (r Revoke) typed() (string, []field) {
	return "Revoke", []field{{"grantId", "bytes32", r.GrantID}}
}

func decimal(n uint64) string { return Uint64(n).String() }
