package bundle

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxBundles is the capacity of [Memory].
const maxBundles = 100_000

// ErrFull reports that [Memory] has reached its capacity of 100,000 bundles.
var ErrFull = errors.New("bundle: the memory store is full")

// Memory is a [Store] in memory, for tests and demonstrations. It is safe for concurrent
// use.
type Memory struct {
	mu      sync.Mutex
	bundles map[string]*Bundle
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{bundles: map[string]*Bundle{}} }

// Create implements [Store]. It returns [ErrFull] if the store is full.
func (m *Memory) Create(_ context.Context, b Bundle) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bundles[b.ID]; ok {
		return ErrExists
	}
	if len(m.bundles) >= maxBundles {
		return ErrFull
	}
	m.bundles[b.ID] = &b
	return nil
}

// Deduct implements [Store].
func (m *Memory) Deduct(_ context.Context, id string, now time.Time) (Bundle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bundles[id]
	switch {
	case !ok:
		return Bundle{}, ErrNotFound
	case b.Remaining <= 0 || !now.Before(b.ExpiresAt):
		return *b, ErrEmpty
	}
	b.Remaining--
	return *b, nil
}

// Refund implements [Store].
func (m *Memory) Refund(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bundles[id]
	if !ok {
		return ErrNotFound
	}
	b.Remaining = min(b.Remaining+1, b.Requests)
	return nil
}

// Read implements [Store].
func (m *Memory) Read(_ context.Context, id string) (Bundle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bundles[id]
	if !ok {
		return Bundle{}, ErrNotFound
	}
	return *b, nil
}

var _ Store = (*Memory)(nil)
