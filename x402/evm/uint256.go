package evm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
)

// ErrNumber tells that a text is no canonical number of at most 256 bits.
var ErrNumber = errors.New("evm: not a number of at most 256 bits")

// Uint256 is a number as the chain has it: 32 bytes, the largest first. The zero
// value is 0, and there are no others than valid ones.
type Uint256 [32]byte

// Uint64 is a small number.
func Uint64(n uint64) (u Uint256) {
	binary.BigEndian.PutUint64(u[24:], n)
	return u
}

// FromBig is a big number; [ErrNumber] where it is negative or longer than 256 bits.
func FromBig(n *big.Int) (u Uint256, err error) {
	if n.Sign() < 0 || n.BitLen() > 256 {
		return u, ErrNumber
	}
	n.FillBytes(u[:])
	return u, nil
}

// ParseUint256 reads decimal digits without a leading zero; [ErrNumber] for
// anything else.
func ParseUint256(s string) (u Uint256, err error) {
	if s == "" || len(s) > 78 || (s[0] == '0' && len(s) > 1) {
		return u, fmt.Errorf("read number of %d characters: %w", len(s), ErrNumber)
	}
	var limbs [4]uint64 // the least first
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

// Big is the number as the standard library has it.
func (u Uint256) Big() *big.Int { return new(big.Int).SetBytes(u[:]) }

// String is the number in decimal digits.
func (u Uint256) String() string { return u.Big().String() }
