package evm

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// SignatureSize is the size of a key's signature in bytes: r, s, and v, which is 27 or
// 28.
const SignatureSize = 65

// Sign signs a digest with a secp256k1 key. It returns an error if the key is on another
// curve.
func Sign(digest common.Hash, key *ecdsa.PrivateKey) ([]byte, error) {
	signature, err := crypto.Sign(digest[:], key)
	if err != nil {
		return nil, fmt.Errorf("sign typed data: %w", err)
	}
	signature[64] += 27
	return signature, nil
}

// Recover returns the address that signed a digest. It returns [ErrSignature] if the
// signature is not in the form that tokens accept: 65 bytes, s in the lower half, v 27 or
// 28. A signature of another digest or key yields another address, not an error.
func Recover(digest common.Hash, signature []byte) (common.Address, error) {
	if len(signature) != SignatureSize || (signature[64] != 27 && signature[64] != 28) || !lowS(signature[32:64]) {
		return common.Address{}, ErrSignature
	}
	var s [SignatureSize]byte
	copy(s[:], signature)
	s[64] -= 27
	public, err := crypto.Ecrecover(digest[:], s[:])
	if err != nil {
		return common.Address{}, ErrSignature
	}
	return common.BytesToAddress(crypto.Keccak256(public[1:])[12:]), nil
}

// halfOrder is half of the order of secp256k1, rounded down.
const halfOrder = "\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x5d\x57\x6e\x73\x57\xa4\x50\x1d\xdf\xe9\x2f\x46\x68\x1b\x20\xa0"

// lowS reports whether s is the one of its two values that contracts accept (EIP-2).
func lowS(s []byte) bool { return string(s) <= halfOrder }
