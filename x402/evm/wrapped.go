package evm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// ErrWrapper reports a malformed ERC-6492 signature.
var ErrWrapper = errors.New("evm: malformed ERC-6492 signature")

// wrapperMark is the 32 bytes that end an ERC-6492 signature.
const wrapperMark = "\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92\x64\x92"

// Wrapped is an ERC-6492 signature of a wallet that may not be deployed yet.
type Wrapped struct {
	// Factory is the contract that deploys the wallet.
	Factory common.Address
	// FactoryCall is the calldata with which the factory deploys it.
	FactoryCall []byte
	// Signature is the signature that the wallet verifies (ERC-1271).
	Signature []byte
}

// IsWrapped reports whether a signature ends with the mark of ERC-6492.
func IsWrapped(signature []byte) bool {
	return len(signature) >= word && string(signature[len(signature)-word:]) == wrapperMark
}

// Unwrap decodes an ERC-6492 signature: abi.encode(address, bytes, bytes) and the mark. It
// returns [ErrWrapper] if the signature is malformed. Offsets out of bounds, dirty
// padding and overlapping values are rejected, because another parser might read another
// signature from them.
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

// member returns the bytes whose offset is in the word at index, and their end. They must
// start at begin, the end of the previous member.
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

// small decodes a word as a number of at most limit.
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

// Wrap encodes the signature; [Unwrap] decodes it.
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

// tail returns the ABI encoding of bytes: their length, and the bytes padded to words.
func tail(value []byte) []byte {
	b := make([]byte, word+(len(value)+word-1)/word*word)
	number(b, uint64(len(value)))
	copy(b[word:], value)
	return b
}
