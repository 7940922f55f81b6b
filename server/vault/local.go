package vault

import (
	"bytes"
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
	"sync"
)

// Local wraps data keys with key-encryption keys held in memory. The first key
// wraps, all unwrap: to rotate, put a new one first and keep the old ones until all
// is wrapped anew. It is safe for concurrent use.
type Local struct {
	path string // of the file that the keys are from; empty: none

	mu   sync.Mutex
	file fs.FileInfo // as it was when it was read
	keys []localKey
}

var _ Rotater = (*Local)(nil)

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
// its owner alone, with one new key. The file is read again when it changes, so that
// a running service takes up a new key; one that cannot be read then changes
// nothing. An error names the file.
func KeyFile(path string) (*Local, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createKeyFile(path); err != nil {
			return nil, fmt.Errorf("make key file: %w", err)
		}
	}
	l := &Local{path: path}
	if err := l.reload(); err != nil {
		return nil, err
	}
	return l, nil
}

// reload reads the file.
func (l *Local) reload() error {
	info, err := os.Stat(l.path)
	if err != nil {
		return fmt.Errorf("read key file: %w", err)
	}
	keys, err := readKeyFile(l.path)
	if err != nil {
		return err
	}
	fresh, err := NewLocal(keys...)
	if err != nil {
		return err
	}
	l.keys, l.file = fresh.keys, info
	return nil
}

// present are the keys as the file has them now.
func (l *Local) present() []localKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path != "" {
		if info, err := os.Stat(l.path); err == nil && changed(l.file, info) {
			_ = l.reload() // those at hand stay
		}
	}
	return l.keys
}

func changed(before, now fs.FileInfo) bool {
	return !os.SameFile(before, now) || !before.ModTime().Equal(now.ModTime()) || before.Size() != now.Size()
}

func readKeyFile(path string) (keys [][]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("key file %s: line %d is not base64", path, len(keys)+1)
		}
		keys = append(keys, key)
	}
	if _, err := NewLocal(keys...); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return keys, nil
}

// AddKey puts a new key first into a key file: from then on it wraps, and the others
// only unwrap. An error names the file.
func AddKey(path string) error {
	keys, err := readKeyFile(path)
	if err != nil {
		return err
	}
	return replaceKeyFile(path, append([][]byte{newKey()}, keys...))
}

// ForgetKeys leaves only the current key in a key file: whatever is still wrapped
// under another one is lost for good. An error names the file.
func ForgetKeys(path string) error {
	keys, err := readKeyFile(path)
	if err != nil {
		return err
	}
	return replaceKeyFile(path, keys[:min(1, len(keys))])
}

func newKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

// createKeyFile writes a new key so that either the whole file is there or none;
// where another process was first, its file stays.
func createKeyFile(path string) error {
	name, err := writeKeys(path, [][]byte{newKey()})
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(name) }() // the link keeps the content
	if err := os.Link(name, path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// replaceKeyFile has a reader see either the old file or the new one.
func replaceKeyFile(path string, keys [][]byte) error {
	name, err := writeKeys(path, keys)
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}

// writeKeys writes a file beside path, of mode 0600, and makes it durable.
func writeKeys(path string, keys [][]byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		_, e := f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
		err = errors.Join(err, e)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Wrap implements [Wrapper]. Wrapped is: key id (8 bytes), nonce (12 bytes), ciphertext and tag.
func (l *Local) Wrap(_ context.Context, dataKey, additional []byte) ([]byte, error) {
	k := l.present()[0]
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce)
	head := append(k.id[:len(k.id):len(k.id)], nonce...)
	return k.aead.Seal(head, nonce, dataKey, bind(k, additional)), nil
}

// Unwrap implements [Wrapper].
func (l *Local) Unwrap(_ context.Context, wrapped, additional []byte) ([]byte, error) {
	for _, k := range l.present() {
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

// Stale implements [Rotater].
func (l *Local) Stale(wrapped []byte) bool {
	id := l.present()[0].id
	return !bytes.HasPrefix(wrapped, id[:])
}

// bind adds the key's id to the additional data.
func bind(k localKey, additional []byte) []byte {
	return append(k.id[:len(k.id):len(k.id)], additional...)
}
