package evm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// ErrWrapper tells that a signature says that it is ERC-6492's and is not.
var ErrWrapper = errors.New("evm: malformed ERC-6492 signature")

// wrapperMark ends a signature of a wallet that may not be deployed yet: 32 bytes.
const wrapperMark = "\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92"

// Wrapped is an ERC-6492 signature: what the wallet will say, and who deploys it.
type Wrapped struct {
	Factory     common.Address
	FactoryCall []byte
	Signature   []byte
}

// IsWrapped tells whether a signature ends as ERC-6492 says.
func IsWrapped(signature []byte) bool {
	return len(signature) >= word && string(signature[len(signature)-word:]) == wrapperMark
}

// Unwrap reads an ERC-6492 signature: abi.encode(address, bytes, bytes) and the
// mark. [ErrWrapper] where it is none: offsets that point outside, an address
// longer than one, bytes that overlap are refused, because another reader might
// see another signature in them.
func Unwrap(signature []byte) (w Wrapped, err error) {
	if !IsWrapped(signature) {
		return w, ErrWrapper
	}
	b := signature[:len(signature)-word]
	if len(b) < 3*word || !zero(b[:word-common.AddressLength]) {
		return w, fmt.Errorf("factory: %w", ErrWrapper)
	}
	w.Factory = common.BytesToAddress(b[:word])
	call, next, err := member(b, 1, 3*word)
	if err != nil {
		return w, fmt.Errorf("factory call: %w", err)
	}
	inner, end, err := member(b, 2, next)
	if err != nil {
		return w, fmt.Errorf("inner signature: %w", err)
	}
	if end != len(b) {
		return w, fmt.Errorf("%d bytes too many: %w", len(b)-end, ErrWrapper)
	}
	w.FactoryCall, w.Signature = call, inner
	return w, nil
}

// member reads bytes whose offset stands in the word at index, and which must
// begin where the one before ended. It returns where it ends itself.
func member(b []byte, index, begin int) (value []byte, end int, err error) {
	offset, ok := small(b[index*word:], len(b))
	if !ok || offset != begin || len(b) < begin+word {
		return nil, 0, ErrWrapper
	}
	size, ok := small(b[begin:], len(b))
	begin += word
	if !ok || size > len(b)-begin {
		return nil, 0, ErrWrapper
	}
	padded := (size + word - 1) / word * word
	if padded > len(b)-begin || !zero(b[begin+size:begin+padded]) {
		return nil, 0, ErrWrapper
	}
	return b[begin : begin+size], begin + padded, nil
}

// small reads a word as a number that is at most limit.
func small(b []byte, limit int) (int, bool) {
	if len(b) < word || !zero(b[:word-8]) {
		return 0, false
	}
	n := binary.BigEndian.Uint64(b[word-8 : word])
	if n > uint64(limit) {
		return 0, false
	}
	return int(n), true
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Wrap is the other direction of [Unwrap].
func (w Wrapped) Wrap() []byte {
	var head [3 * word]byte
	address(head[:], w.Factory)
	call, inner := tail(w.FactoryCall), tail(w.Signature)
	number(head[1*word:], uint64(len(head)))
	number(head[2*word:], uint64(len(head)+len(call)))
	b := append(head[:], call...)
	b = append(b, inner...)
	return append(b, wrapperMark...)
}

// tail is bytes as the ABI has them: their length and themselves, filled up.
func tail(value []byte) []byte {
	b := make([]byte, word+(len(value)+word-1)/word*word)
	number(b, uint64(len(value)))
	copy(b[word:], value)
	return b
}
