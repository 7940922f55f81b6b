package mandate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxStatusListBytes is the longest status list that is read, decompressed:
// room for eight million mandates.
const MaxStatusListBytes = 1 << 20

// Errors of status lists.
var (
	// ErrStatusIndex tells that an index is not in the list.
	ErrStatusIndex = errors.New("index is not in the status list")
	// ErrStatusList tells that a status list cannot be read.
	ErrStatusList = errors.New("not a usable status list")
)

// StatusList is a list of one bit for each mandate, set where it is revoked: a
// Token Status List (draft-ietf-oauth-status-list section 4) with bits = 1.
// The zero StatusList is empty. It is not safe for concurrent use while it is
// being changed.
type StatusList struct {
	bits []byte // index 0 is the lowest bit of byte 0
}

// NewStatusList is a list of at least size mandates, none revoked; the size is
// rounded up to whole bytes. Errors: [ErrStatusIndex] where size is negative or
// beyond [MaxStatusListBytes].
func NewStatusList(size int64) (*StatusList, error) {
	if size < 0 || size > 8*MaxStatusListBytes {
		return nil, fmt.Errorf("status list of %d: %w", size, ErrStatusIndex)
	}
	return &StatusList{bits: make([]byte, (size+7)/8)}, nil
}

// Len is how many mandates the list has room for.
func (l *StatusList) Len() int64 { return 8 * int64(len(l.bits)) }

// Revoke sets the bit of a mandate. There is no way back. Errors: [ErrStatusIndex].
func (l *StatusList) Revoke(index int64) error {
	if index < 0 || index >= l.Len() {
		return fmt.Errorf("revoke %d of %d: %w", index, l.Len(), ErrStatusIndex)
	}
	l.bits[index/8] |= 1 << (index % 8)
	return nil
}

// Revoked reads the bit of a mandate. Errors: [ErrStatusIndex].
func (l *StatusList) Revoked(index int64) (bool, error) {
	if index < 0 || index >= l.Len() {
		return false, fmt.Errorf("status %d of %d: %w", index, l.Len(), ErrStatusIndex)
	}
	return l.bits[index/8]>>(index%8)&1 == 1, nil
}

// Clone is a copy that shares nothing.
func (l *StatusList) Clone() *StatusList { return &StatusList{bits: slices.Clone(l.bits)} }

// compress is the lst of the list: zlib at its best compression.
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

// decompressStatusList reads lst: one zlib stream, its checksum right, nothing
// behind it, and no longer than allowed.
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
