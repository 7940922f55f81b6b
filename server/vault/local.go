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

// Local wraps data keys with key-encryption keys in memory. The first key wraps, and all
// keys unwrap. To rotate, add a new key at the front, and keep the old ones until
// everything is wrapped with it. It is safe for concurrent use.
type Local struct {
	path string // the file with the keys; empty: none

	mu   sync.Mutex
	file fs.FileInfo // of the file when it was read
	keys []localKey
}

var _ Rotater = (*Local)(nil)

type localKey struct {
	id   [8]byte
	aead cipher.AEAD
}

// NewLocal returns a Local with keys of 32 bytes each. The returned error names the
// invalid key.
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

// KeyFile returns a Local with the keys of a file: one base64 key of 32 bytes per line, the
// current one first. If the file does not exist, it is created with one new key, readable
// only by its owner. The file is read again when it changes, so that a running service
// uses a new key. If that fails, the previous keys remain. The returned error names the
// file.
func KeyFile(path string) (*Local, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createKeyFile(path); err != nil {
			return nil, fmt.Errorf("create key file: %w", err)
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

// present returns the current keys of the file.
func (l *Local) present() []localKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path != "" {
		if info, err := os.Stat(l.path); err == nil && changed(l.file, info) {
			_ = l.reload() // on failure the previous keys remain
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

// AddKey adds a new key at the front of a key file: it wraps from then on, and the others
// only unwrap. The returned error names the file.
func AddKey(path string) error {
	keys, err := readKeyFile(path)
	if err != nil {
		return err
	}
	return replaceKeyFile(path, append([][]byte{newKey()}, keys...))
}

// ForgetKeys removes all keys but the current one from a key file. What is still wrapped
// with another key is lost for good. The returned error names the file.
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

// createKeyFile atomically creates a file with a new key. If another process was faster,
// its file stays.
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

// replaceKeyFile replaces the file atomically.
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

// writeKeys writes a temporary file next to path, with mode 0600, and syncs it.
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

// Wrap implements [Wrapper]. The result consists of the key id (8 bytes), the nonce (12
// bytes), and the ciphertext with its tag.
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
