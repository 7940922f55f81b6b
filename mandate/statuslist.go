package mandate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxStatusListBytes is the maximum size of a status list, decompressed: eight million
// mandates.
const MaxStatusListBytes = 1 << 20

// Errors of status lists.
var (
	// ErrStatusIndex reports an index outside the list.
	ErrStatusIndex = errors.New("index is not in the status list")
	// ErrStatusList reports a status list that is malformed or not valid.
	ErrStatusList = errors.New("not a usable status list")
)

// StatusList is a list of one bit per mandate, set if the mandate is revoked: a Token
// Status List (draft-ietf-oauth-status-list section 4) with bits = 1. The zero StatusList
// is empty. It is not safe for concurrent use while it is modified.
type StatusList struct {
	bits []byte // index 0 is the lowest bit of byte 0
}

// NewStatusList returns a list of size mandates, rounded up to whole bytes, of which none
// is revoked. It returns [ErrStatusIndex] if size is negative or exceeds
// [MaxStatusListBytes].
func NewStatusList(size int64) (*StatusList, error) {
	if size < 0 || size > 8*MaxStatusListBytes {
		return nil, fmt.Errorf("status list of %d: %w", size, ErrStatusIndex)
	}
	return &StatusList{bits: make([]byte, (size+7)/8)}, nil
}

// Len returns the number of mandates in the list.
func (l *StatusList) Len() int64 { return 8 * int64(len(l.bits)) }

// Revoke sets the bit of a mandate. It cannot be undone. It returns [ErrStatusIndex] for
// an index outside the list.
func (l *StatusList) Revoke(index int64) error {
	if index < 0 || index >= l.Len() {
		return fmt.Errorf("revoke %d of %d: %w", index, l.Len(), ErrStatusIndex)
	}
	l.bits[index/8] |= 1 << (index % 8)
	return nil
}

// Revoked reports whether a mandate is revoked. It returns [ErrStatusIndex] for an index
// outside the list.
func (l *StatusList) Revoked(index int64) (bool, error) {
	if index < 0 || index >= l.Len() {
		return false, fmt.Errorf("status %d of %d: %w", index, l.Len(), ErrStatusIndex)
	}
	return l.bits[index/8]>>(index%8)&1 == 1, nil
}

// Clone returns a deep copy.
func (l *StatusList) Clone() *StatusList { return &StatusList{bits: slices.Clone(l.bits)} }

// compress returns the lst of the list: zlib with the best compression.
func (l *StatusList) compress() ([]byte, error) {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress status list: %w", err)
	}
	if _, err := w.Write(l.bits); err != nil {
		return nil, fmt.Errorf("compress status list: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress status list: %w", err)
	}
	return b.Bytes(), nil
}

// decompressStatusList decodes lst: one zlib stream with a valid checksum, no data after
// it, and at most MaxStatusListBytes.
func decompressStatusList(lst []byte) (*StatusList, error) {
	in := bytes.NewReader(lst)
	r, err := zlib.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStatusList, err)
	}
	bits, err := io.ReadAll(io.LimitReader(r, MaxStatusListBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrStatusList, err)
	case len(bits) > MaxStatusListBytes:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrStatusList, MaxStatusListBytes)
	case in.Len() != 0:
		return nil, fmt.Errorf("%w: data behind the list", ErrStatusList)
	}
	return &StatusList{bits: bits}, nil
}
