package sdjwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"math/big"
)

// half is the length of r and of s.
const half = 32

// verifyES256 verifies a raw r||s signature. The library refuses r and s that are zero or
// not below the order.
func verifyES256(key *ecdsa.PublicKey, signed, signature string) bool {
	if len(signature) != 2*half {
		return false
	}
	var room [4096]byte // on the stack: tokens are hashed often and are rarely longer
	sum := sha256.Sum256(append(room[:0], signed...))
	var buf [2*(half+3) + 2]byte
	der := append(buf[:0], 0x30, 0)
	der = appendInteger(der, signature[:half])
	der = appendInteger(der, signature[half:])
	der[1] = byte((len(der) - 2) & 0x7f) // short form: at most 70
	return ecdsa.VerifyASN1(key, sum[:], der)
}

// appendInteger appends an unsigned big-endian number as the shortest DER INTEGER.
func appendInteger(der []byte, n string) []byte {
	for len(n) > 1 && n[0] == 0 {
		n = n[1:]
	}
	if n[0] >= 0x80 {
		return append(append(der, 2, byte((len(n)+1)&0x7f), 0), n...)
	}
	return append(append(der, 2, byte(len(n)&0x7f)), n...)
}

var errSigner = errors.New("signer does not sign with ECDSA P-256")

// signES256 signs, and converts the signer's ASN.1 to r||s.
func signES256(key crypto.Signer, signed string) ([]byte, error) {
	pub, ok := key.Public().(*ecdsa.PublicKey)
	if !ok || pub.Curve != elliptic.P256() {
		return nil, errSigner
	}
	sum := sha256.Sum256([]byte(signed))
	der, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var rs struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &rs)
	if err != nil || len(rest) != 0 || rs.R.Sign() <= 0 || rs.S.Sign() <= 0 || rs.R.BitLen() > 8*half || rs.S.BitLen() > 8*half {
		return nil, errSigner
	}
	sig := make([]byte, 2*half)
	rs.R.FillBytes(sig[:half])
	rs.S.FillBytes(sig[half:])
	return sig, nil
}
