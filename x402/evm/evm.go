// Package evm hashes and signs the typed data (EIP-712) that moves dollar tokens on EVM
// chains, and recovers its signers: transfer authorizations (EIP-3009), permits
// (EIP-2612), payments of x402's scheme upto (Permit2), and the grants, charges and
// revocations of the mandate router.
//
//	domain := evm.Domain{Name: "USDC", Version: "2", ChainID: 84532, Contract: usdc}.Separator()
//	digest := evm.Digest(domain, evm.TransferAuthorization{From: from, To: to, Value: evm.Uint64(10_000), …})
//	signature, err := evm.Sign(digest, key)
//	signer, err := evm.Recover(digest, signature)
//
// Each type has its own encoder, which is faster than a general one; a property test
// compares them with go-ethereum's. Compute a domain's separator once and keep it.
//
// Contract wallets verify their own signatures (ERC-1271), even before they are deployed
// (ERC-6492); [Verifier] calls them through a small interface. The package opens no
// connection and sends no transaction.
package evm

import (
	"encoding/binary"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// ErrSignature reports a signature that is malformed or not the signer's.
var ErrSignature = errors.New("evm: signature is not valid")

// Message is typed data: one of the types of this package.
type Message interface {
	// structHash returns the hashStruct of EIP-712.
	structHash() common.Hash
	// typed returns the message in the form that wallets show.
	typed() (name string, fields []field)
}

// Separator is the hash of a [Domain].
type Separator common.Hash

// Domain is the contract and chain that a signature is for.
type Domain struct {
	// Name is the name of the contract's domain, such as "USD Coin".
	Name string
	// Version is the version of the contract's domain, such as "2". Empty: the domain has
	// none, as that of Permit2.
	Version string
	// ChainID is the EIP-155 chain id.
	ChainID uint64
	// Contract is the address of the contract that verifies the signature.
	Contract common.Address
}

// domainTypeHash is the hash of EIP712Domain(string name,string version,uint256
// chainId,address verifyingContract).
const domainTypeHash = "\x8b\x73\xc3\xc6\x9b\xb8\xfe\x3d\x51\x2e\xcc\x4c\xf7\x59\xcc\x79\x23\x9f\x7b\x17\x9b\x0f\xfa\xca\xa9\xa7\x5d\x52\x2b\x39\x40\x0f"

// unversionedTypeHash is that of a domain without a version.
var unversionedTypeHash = crypto.Keccak256Hash([]byte("EIP712Domain(string name,uint256 chainId,address verifyingContract)"))

// Separator returns the hash of the domain.
func (d Domain) Separator() Separator {
	if d.Version == "" {
		return d.unversioned()
	}
	var b [5 * word]byte
	copy(b[:], domainTypeHash)
	name, version := crypto.Keccak256Hash([]byte(d.Name)), crypto.Keccak256Hash([]byte(d.Version))
	copy(b[1*word:], name[:])
	copy(b[2*word:], version[:])
	number(b[3*word:], d.ChainID)
	address(b[4*word:], d.Contract)
	return Separator(crypto.Keccak256Hash(b[:]))
}

// unversioned returns the hash of a domain without a version.
func (d Domain) unversioned() Separator {
	var b [4 * word]byte
	copy(b[:], unversionedTypeHash[:])
	name := crypto.Keccak256Hash([]byte(d.Name))
	copy(b[1*word:], name[:])
	number(b[2*word:], d.ChainID)
	address(b[3*word:], d.Contract)
	return Separator(crypto.Keccak256Hash(b[:]))
}

// Digest returns the hash that is signed: that of a message for a domain.
func Digest(s Separator, m Message) common.Hash {
	hash := m.structHash()
	var b [2 + 2*word]byte
	b[0], b[1] = 0x19, 0x01
	copy(b[2:], s[:])
	copy(b[2+word:], hash[:])
	return crypto.Keccak256Hash(b[:])
}

// word is the size of an ABI word in bytes.
const word = 32

// address encodes an address as a word.
func address(to []byte, a common.Address) { copy(to[word-len(a):word], a[:]) }

// number encodes a number as a word.
func number(to []byte, n uint64) { binary.BigEndian.PutUint64(to[word-8:word], n) }
