package evm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
)

// ErrNumber reports a text that is not a canonical decimal number of at most 256 bits.
var ErrNumber = errors.New("evm: not a number of at most 256 bits")

// Uint256 is an unsigned number of 256 bits, big-endian. Its zero value is 0, and every
// value is valid.
type Uint256 [32]byte

// Uint64 returns n as a Uint256.
func Uint64(n uint64) (u Uint256) {
	binary.BigEndian.PutUint64(u[24:], n)
	return u
}

// FromBig returns n as a Uint256. It returns [ErrNumber] if n is negative or has more than
// 256 bits.
func FromBig(n *big.Int) (u Uint256, err error) {
	if n.Sign() < 0 || n.BitLen() > 256 {
		return u, ErrNumber
	}
	n.FillBytes(u[:])
	return u, nil
}

// ParseUint256 parses decimal digits without a leading zero. It returns [ErrNumber] for
// any other text.
func ParseUint256(s string) (u Uint256, err error) {
	if s == "" || len(s) > 78 || (s[0] == '0' && len(s) > 1) {
		return u, fmt.Errorf("read number of %d characters: %w", len(s), ErrNumber)
	}
	var limbs [4]uint64 // least significant first
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return u, fmt.Errorf("read number: %w", ErrNumber)
		}
		carry := uint64(digit)
		for j := range limbs {
			high, low := bits.Mul64(limbs[j], 10)
			var c uint64
			limbs[j], c = bits.Add64(low, carry, 0)
			carry = high + c
		}
		if carry != 0 {
			return u, fmt.Errorf("read number: %w", ErrNumber)
		}
	}
	for j, limb := range limbs {
		binary.BigEndian.PutUint64(u[24-8*j:], limb)
	}
	return u, nil
}

// Big returns the number as a big.Int.
func (u Uint256) Big() *big.Int { return new(big.Int).SetBytes(u[:]) }

// String returns the number in decimal digits.
func (u Uint256) String() string { return u.Big().String() }
