package bundle

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxBundles is how many bundles [Memory] keeps.
const maxBundles = 100_000

// ErrFull is what [Memory] answers where it keeps as many bundles as it may.
var ErrFull = errors.New("bundle: too many bundles to remember")

// Memory keeps bundles in this process, and forgets them with it: for tests and
// demonstrations.
type Memory struct {
	mu      sync.Mutex
	bundles map[string]*Bundle
}

// NewMemory makes an empty one.
func NewMemory() *Memory { return &Memory{bundles: map[string]*Bundle{}} }

// Create implements [Store]. [ErrFull] where there is no room.
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

// GiveBack implements [Store].
func (m *Memory) GiveBack(_ context.Context, id string) error {
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
