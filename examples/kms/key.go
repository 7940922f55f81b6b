package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/server/vault"
)

// Key wraps data keys by a key service that encrypts and decrypts with a key that
// has versions: POST {key}:encrypt and {key}:decrypt with a plaintext or ciphertext
// and associated data, GET {key} for its primary version.
type Key struct {
	url, token string
	client     *http.Client

	mu      sync.Mutex
	version string // the primary one, as far as is known
}

var (
	_ vault.Wrapper = (*Key)(nil)
	_ vault.Rotater = (*Key)(nil)
)

// NewKey returns a key of a key service. It performs no I/O.
func NewKey(url, token string) *Key {
	return &Key{url: url, token: token, client: &http.Client{Timeout: 5 * time.Second}}
}

// message is what the key service reads and writes.
type message struct {
	Version    string `json:"version,omitempty"`
	Plaintext  []byte `json:"plaintext,omitempty"`
	Ciphertext []byte `json:"ciphertext,omitempty"`
	Associated []byte `json:"associatedData,omitempty"`
}

// Wrap implements vault.Wrapper. Wrapped is JSON, so that it names its version.
func (k *Key) Wrap(ctx context.Context, dataKey, additional []byte) ([]byte, error) {
	said, err := k.call(ctx, http.MethodPost, ":encrypt", message{Plaintext: dataKey, Associated: additional})
	if err != nil {
		return nil, fmt.Errorf("wrap data key: %w", err)
	}
	k.learn(said.Version)
	return json.Marshal(message{Version: said.Version, Ciphertext: said.Ciphertext})
}

// Unwrap implements vault.Wrapper.
func (k *Key) Unwrap(ctx context.Context, wrapped, additional []byte) ([]byte, error) {
	var m message
	if err := json.Unmarshal(wrapped, &m); err != nil {
		return nil, vault.ErrSealed
	}
	m.Associated = additional
	said, err := k.call(ctx, http.MethodPost, ":decrypt", m)
	if err != nil {
		return nil, fmt.Errorf("unwrap data key: %w", err)
	}
	return said.Plaintext, nil
}

// Stale implements vault.Rotater.
func (k *Key) Stale(wrapped []byte) bool {
	var m message
	return json.Unmarshal(wrapped, &m) == nil && m.Version != k.Version()
}

// Refresh asks which version is the primary one.
func (k *Key) Refresh(ctx context.Context) error {
	said, err := k.call(ctx, http.MethodGet, "", nil)
	if err != nil {
		return fmt.Errorf("read key: %w", err)
	}
	k.learn(said.Version)
	return nil
}

// Version is the primary version, as far as is known.
func (k *Key) Version() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.version
}

func (k *Key) learn(version string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version = version
}

// maxAnswer is the longest answer that is read.
const maxAnswer = 64 << 10

// call asks the key service. It answers 422 for what does not decrypt: that is
// vault.ErrSealed, everything else may pass.
func (k *Key) call(ctx context.Context, method, verb string, body any) (said message, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return said, err
	}
	r, err := http.NewRequestWithContext(ctx, method, k.url+verb, bytes.NewReader(text))
	if err != nil {
		return said, err
	}
	r.Header.Set("Authorization", "Bearer "+k.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := k.client.Do(r)
	if err != nil {
		return said, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return said, err
	case resp.StatusCode == http.StatusUnprocessableEntity:
		return said, vault.ErrSealed
	case resp.StatusCode != http.StatusOK:
		return said, fmt.Errorf("the key service answered %s", resp.Status)
	}
	return said, json.Unmarshal(answer, &said)
}
