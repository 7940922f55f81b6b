// Package evm hashes, signs and recovers the typed data (EIP-712) that moves
// dollars on EVM chains: transfer authorizations (EIP-3009), permits (EIP-2612),
// and the grants, charges and revocations of the mandate router.
//
//	domain := evm.Domain{Name: "USDC", Version: "2", ChainID: 84532, Contract: usdc}.Separator()
//	digest := evm.Digest(domain, evm.TransferAuthorization{From: from, To: to, Value: evm.Uint64(10_000), …})
//	signature, err := evm.Sign(digest, key)
//	signer, err := evm.Recover(digest, signature)
//
// The encoding is written out by hand for each type, so that a hash costs little;
// a property test compares it with go-ethereum's general encoder. A domain's
// separator is computed once and kept by the caller.
//
// Wallets that are contracts sign as they like (ERC-1271), even before they are
// deployed (ERC-6492); [Verifier] asks them over a small interface. The package
// dials nobody and sends no transaction.
package evm

import (
	"encoding/binary"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// ErrSignature tells that a signature is not the signer's, or not one at all.
var ErrSignature = errors.New("evm: signature is not valid")

// Message is typed data: one of this package's types.
type Message interface {
	// structHash is hashStruct of EIP-712.
	structHash() common.Hash
	// typed is the message as wallets read it.
	typed() (name string, fields []field)
}

// Separator is a domain's hash.
type Separator common.Hash

// Domain says for which contract on which chain something is signed.
type Domain struct {
	Name     string
	Version  string
	ChainID  uint64
	Contract common.Address
}

// domainTypeHash is the hash of
// EIP712Domain(string name,string version,uint256 chainId,address verifyingContract).
const domainTypeHash = "\x8b\x73\xc3\xc6\x9b\xb8\xfe\x3d\x51\x2e\xcc\x4c\xf7\x59\xcc\x79\x23\x9f\x7b\x17\x9b\x0f\xfa\xca\xa9\xa7\x5d\x52\x2b\x39\x40\x0f"

// Separator hashes the domain.
func (d Domain) Separator() Separator {
	var b [5 * word]byte
	copy(b[:], domainTypeHash)
	name, version := crypto.Keccak256Hash([]byte(d.Name)), crypto.Keccak256Hash([]byte(d.Version))
	copy(b[1*word:], name[:])
	copy(b[2*word:], version[:])
	number(b[3*word:], d.ChainID)
	address(b[4*word:], d.Contract)
	return Separator(crypto.Keccak256Hash(b[:]))
}

// Digest is what is signed: the hash of a message for a domain.
func Digest(s Separator, m Message) common.Hash {
	hash := m.structHash()
	var b [2 + 2*word]byte
	b[0], b[1] = 0x19, 0x01
	copy(b[2:], s[:])
	copy(b[2+word:], hash[:])
	return crypto.Keccak256Hash(b[:])
}

// word is how many bytes a value takes.
const word = 32

// address writes an address as a word.
func address(to []byte, a common.Address) { copy(to[word-len(a):word], a[:]) }

// number writes a small number as a word.
func number(to []byte, n uint64) { binary.BigEndian.PutUint64(to[word-8:word], n) }
