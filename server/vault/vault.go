// Package vault seals what must be kept but not lie open: signing keys, session
// keys, mandate tokens. Each secret has a data key of its own (AES-256-GCM),
// which a [Wrapper] encrypts with a key-encryption key that the database never
// sees: a local key file here, a cloud's key service elsewhere.
//
//	v := vault.New(wrapper)
//	sealed, err := v.Seal(ctx, vault.Label{Purpose: "session-key", Owner: "del_…"}, secret)
//	secret, err := v.Open(ctx, vault.Label{Purpose: "session-key", Owner: "del_…"}, sealed)
//
// The label is bound in: what was sealed for one mandate and purpose opens for no
// other. The package keeps nothing; who seals also stores, and destroys by deleting.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrSealed tells that a secret does not open: it is damaged, was sealed under
// another label, or its key-encryption key is not at hand.
var ErrSealed = errors.New("vault: secret does not open")

// Wrapper encrypts data keys with a key-encryption key. Both methods bind the
// additional data in: what was wrapped with one does not unwrap with another.
// Wrap may include which key it used in what it returns.
type Wrapper interface {
	Wrap(ctx context.Context, dataKey, additional []byte) (wrapped []byte, err error)
	// Unwrap returns [ErrSealed] where wrapped does not open.
	Unwrap(ctx context.Context, wrapped, additional []byte) (dataKey []byte, err error)
}

// Rotater is a [Wrapper] whose key changes: it tells what it wrapped with another
// one than now. Of a Wrapper that is none, everything is taken to be up to date.
type Rotater interface{ Stale(wrapped []byte) bool }

// Label says what a secret is for, and whose.
type Label struct {
	Purpose string
	Owner   string
}

// bytes is unambiguous: lengths keep the parts apart.
func (l Label) bytes() []byte {
	b := []byte("paywarrant/v1")
	for _, part := range []string{l.Purpose, l.Owner} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// Vault seals and opens.
type Vault struct{ wrapper Wrapper }

// New returns a vault whose data keys are wrapped by w.
func New(w Wrapper) *Vault { return &Vault{wrapper: w} }

const version = 1

// Seal encrypts a secret under a label. Sealed is: version (1 byte), length of
// the wrapped data key (2 bytes), the wrapped data key, nonce (12 bytes), ciphertext and tag.
func (v *Vault) Seal(ctx context.Context, l Label, secret []byte) ([]byte, error) {
	var dataKey [32]byte
	_, _ = rand.Read(dataKey[:]) // never fails
	defer clear(dataKey[:])
	head, err := v.head(ctx, l, dataKey[:])
	if err != nil {
		return nil, fmt.Errorf("seal %s of %s: %w", l.Purpose, l.Owner, err)
	}
	aead, err := newAEAD(dataKey[:])
	if err != nil {
		return nil, fmt.Errorf("seal %s of %s: %w", l.Purpose, l.Owner, err)
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return aead.Seal(append(head, nonce...), nonce, secret, l.bytes()), nil
}

// head is what comes before the nonce: version, and the wrapped data key.
func (v *Vault) head(ctx context.Context, l Label, dataKey []byte) ([]byte, error) {
	wrapped, err := v.wrapper.Wrap(ctx, dataKey, l.bytes())
	if err != nil {
		return nil, err
	}
	if len(wrapped) > 1<<16-1 {
		return nil, fmt.Errorf("wrapped key of %d bytes is too long", len(wrapped))
	}
	return append(binary.BigEndian.AppendUint16([]byte{version}, uint16(len(wrapped))), wrapped...), nil
}

// split takes what head made off.
func split(sealed []byte) (wrapped, rest []byte, err error) {
	if len(sealed) < 3 || sealed[0] != version {
		return nil, nil, ErrSealed
	}
	size := int(binary.BigEndian.Uint16(sealed[1:]))
	if rest = sealed[3:]; len(rest) < size {
		return nil, nil, ErrSealed
	}
	return rest[:size], rest[size:], nil
}

// Open decrypts what Seal made under the same label; the caller clears it after
// use. It returns [ErrSealed] where it does not open.
func (v *Vault) Open(ctx context.Context, l Label, sealed []byte) ([]byte, error) {
	secret, err := v.open(ctx, l, sealed)
	if err != nil {
		return nil, fmt.Errorf("open %s of %s: %w", l.Purpose, l.Owner, err)
	}
	return secret, nil
}

func (v *Vault) open(ctx context.Context, l Label, sealed []byte) ([]byte, error) {
	wrapped, rest, err := split(sealed)
	if err != nil {
		return nil, err
	}
	dataKey, err := v.wrapper.Unwrap(ctx, wrapped, l.bytes())
	if err != nil {
		return nil, err
	}
	defer clear(dataKey)
	aead, err := newAEAD(dataKey)
	if err != nil {
		return nil, err
	}
	if len(rest) < aead.NonceSize() {
		return nil, ErrSealed
	}
	secret, err := aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], l.bytes())
	if err != nil {
		return nil, ErrSealed
	}
	return secret, nil
}

// Rewrap wraps the data key of a secret under the wrapper's present key, where it is
// wrapped under another one; the secret is not opened. Changed is false where there
// is nothing to do. It returns [ErrSealed] where the data key does not open.
func (v *Vault) Rewrap(ctx context.Context, l Label, sealed []byte) (fresh []byte, changed bool, err error) {
	wrapped, rest, err := split(sealed)
	if r, ok := v.wrapper.(Rotater); err == nil && (!ok || !r.Stale(wrapped)) {
		return sealed, false, nil
	}
	if err == nil {
		fresh, err = v.rewrap(ctx, l, wrapped, rest)
	}
	if err != nil {
		return nil, false, fmt.Errorf("rewrap %s of %s: %w", l.Purpose, l.Owner, err)
	}
	return fresh, true, nil
}

func (v *Vault) rewrap(ctx context.Context, l Label, wrapped, rest []byte) ([]byte, error) {
	dataKey, err := v.wrapper.Unwrap(ctx, wrapped, l.bytes())
	if err != nil {
		return nil, err
	}
	defer clear(dataKey)
	head, err := v.head(ctx, l, dataKey)
	return append(head, rest...), err
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
