// Package vault seals secrets that must be stored but not readable: signing keys, session
// keys, mandate tokens. Each secret is encrypted with its own data key (AES-256-GCM),
// which a [Wrapper] encrypts with a key-encryption key that the database never contains:
// a local key file here, a cloud's key management service elsewhere.
//
//	v := vault.New(wrapper)
//	sealed, err := v.Seal(ctx, vault.Label{Purpose: "session-key", Owner: "del_…"}, secret)
//	secret, err := v.Open(ctx, vault.Label{Purpose: "session-key", Owner: "del_…"}, sealed)
//
// The label is authenticated: a secret that was sealed for one mandate and purpose opens
// for no other. The package stores nothing. The caller stores sealed secrets, and destroys
// them by deletion.
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

// ErrSealed reports that a secret cannot be opened: it is damaged, was sealed under another
// label, or its key-encryption key is not available.
var ErrSealed = errors.New("vault: secret does not open")

// Wrapper encrypts data keys with a key-encryption key. Both methods authenticate the
// additional data: a data key that was wrapped with one value does not unwrap with another.
// Implementations must be safe for concurrent use.
type Wrapper interface {
	// Wrap encrypts a data key. The result may include which key-encryption key was used.
	Wrap(ctx context.Context, dataKey, additional []byte) (wrapped []byte, err error)
	// Unwrap decrypts a data key. It returns [ErrSealed] if wrapped cannot be opened.
	Unwrap(ctx context.Context, wrapped, additional []byte) (dataKey []byte, err error)
}

// Rotater is a [Wrapper] whose key-encryption key can change. A Wrapper that does not
// implement it is treated as if everything were wrapped with the current key.
type Rotater interface {
	// Stale reports whether wrapped was wrapped with another key than the current one.
	Stale(wrapped []byte) bool
}

// Label identifies what a secret is for, and whose it is.
type Label struct {
	// Purpose is what the secret is for, such as "session-key".
	Purpose string
	// Owner is the id of the object that the secret belongs to.
	Owner string
}

// bytes encodes the label unambiguously, with the length of each part.
func (l Label) bytes() []byte {
	b := []byte("paywarrant/v1")
	for _, part := range []string{l.Purpose, l.Owner} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// Vault seals and opens secrets. It is safe for concurrent use.
type Vault struct{ wrapper Wrapper }

// New returns a Vault whose data keys are wrapped by w.
func New(w Wrapper) *Vault { return &Vault{wrapper: w} }

const version = 1

// Seal encrypts a secret under a label. The result consists of the version (1 byte), the
// length of the wrapped data key (2 bytes), the wrapped data key, the nonce (12 bytes), and
// the ciphertext with its tag. It returns the errors of the Wrapper.
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

// head returns what precedes the nonce: the version and the wrapped data key.
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

// split reverses head.
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

// Open decrypts a secret that Seal encrypted under the same label. The caller should clear
// it after use. It returns [ErrSealed] if the secret cannot be opened, and the errors of
// the Wrapper.
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

// Rewrap wraps the data key of a secret with the current key-encryption key, if it is
// wrapped with another one. It does not decrypt the secret. Changed is false if nothing had
// to be done. It returns [ErrSealed] if the data key cannot be unwrapped.
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
