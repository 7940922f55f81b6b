package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Local wraps data keys with key-encryption keys held in memory. The first key
// wraps, all unwrap: to rotate, put a new one first and keep the old ones.
type Local struct{ keys []localKey }

type localKey struct {
	id   [8]byte
	aead cipher.AEAD
}

// NewLocal returns a wrapper with keys of 32 bytes each. An error names what is
// wrong with them.
func NewLocal(keys ...[]byte) (*Local, error) {
	if len(keys) == 0 {
		return nil, errors.New("vault: at least one key-encryption key is required")
	}
	l := &Local{}
	for i, k := range keys {
		if len(k) != 32 {
			return nil, fmt.Errorf("vault: key-encryption key %d has %d bytes, not 32", i+1, len(k))
		}
		aead, err := newAEAD(k)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("paywarrant key-encryption key id"), k...))
		l.keys = append(l.keys, localKey{id: [8]byte(sum[:8]), aead: aead})
	}
	return l, nil
}

// KeyFile reads key-encryption keys from a file: one base64 key of 32 bytes a
// line, the current one first. A file that does not exist is made, readable by
// its owner alone, with one new key. An error names the file.
func KeyFile(path string) (*Local, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = createKeyFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("key file %s: line %d is not base64", path, len(keys)+1)
		}
		keys = append(keys, key)
	}
	l, err := NewLocal(keys...)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return l, nil
}

// createKeyFile writes a new key so that either the whole file is there or none.
func createKeyFile(path string) ([]byte, error) {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	text := []byte(base64.StdEncoding.EncodeToString(key[:]) + "\n")
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // the link below keeps the content
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return os.ReadFile(path) // another process was first
	} else if err != nil {
		return nil, err
	}
	return text, nil
}

// Wrap implements [Wrapper]. Wrapped is: key id (8 bytes), nonce (12 bytes), ciphertext and tag.
func (l *Local) Wrap(_ context.Context, dataKey, additional []byte) ([]byte, error) {
	k := l.keys[0]
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce)
	head := append(k.id[:len(k.id):len(k.id)], nonce...)
	return k.aead.Seal(head, nonce, dataKey, bind(k, additional)), nil
}

// Unwrap implements [Wrapper].
func (l *Local) Unwrap(_ context.Context, wrapped, additional []byte) ([]byte, error) {
	for _, k := range l.keys {
		rest, ok := strings.CutPrefix(string(wrapped), string(k.id[:]))
		if !ok || len(rest) < k.aead.NonceSize() {
			continue
		}
		n := k.aead.NonceSize()
		key, err := k.aead.Open(nil, []byte(rest[:n]), []byte(rest[n:]), bind(k, additional))
		if err != nil {
			return nil, ErrSealed
		}
		return key, nil
	}
	return nil, ErrSealed
}

// bind adds the key's id to the additional data.
func bind(k localKey, additional []byte) []byte {
	return append(k.id[:len(k.id):len(k.id)], additional...)
}
