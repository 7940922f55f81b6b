package mandate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// KeyState is the state of a signing key: next, current, retired, revoked. A key moves
// forward through them and never back.
type KeyState string

// The states of a key.
const (
	// KeyNext is published but does not sign yet, so that verifiers know it in advance.
	KeyNext KeyState = "next"
	// KeyCurrent signs. There is at most one.
	KeyCurrent KeyState = "current"
	// KeyRetired no longer signs. What it signed stays valid, and it stays published for
	// longer than the longest mandate.
	KeyRetired KeyState = "retired"
	// KeyRevoked is not published. Nothing that it signed is valid.
	KeyRevoked KeyState = "revoked"
)

// Errors of [KeySet].
var (
	// ErrKeyState reports a key whose state does not allow the change.
	ErrKeyState = errors.New("key is not in the state for that")
	// ErrKeyExists reports a duplicate key. A revoked key cannot be added again.
	ErrKeyExists = errors.New("key exists")
)

// Key is the public part of a signing key, and its state.
type Key struct {
	PublicKey

	// State is next, current, retired or revoked.
	State KeyState
}

// KeySet is the issuer's set of signing keys, public parts only. It is a [KeySource] for
// the service itself, and publishes the set through [KeySet.Handler]. It does not store
// the keys; the service does. It is safe for concurrent use.
type KeySet struct {
	mu   sync.RWMutex
	keys []Key
	byID map[string]PublicKey // the published keys
	doc  document
}

// NewKeySet returns a set of the keys. Errors are those of [KeySet.Replace].
func NewKeySet(keys ...Key) (*KeySet, error) {
	s := &KeySet{}
	return s, s.Replace(keys...)
}

// Replace replaces all keys. It returns [ErrBadKey] for a zero key, [ErrKeyExists] for a
// duplicate key, and [ErrKeyState] for an unknown state or a second current key. On error
// the set does not change.
func (s *KeySet) Replace(keys ...Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(slices.Clone(keys))
}

// set validates keys and installs them. The caller holds the lock.
func (s *KeySet) set(keys []Key) error {
	seen := make(map[string]bool, len(keys))
	byID := make(map[string]PublicKey, len(keys))
	current := 0
	for _, k := range keys {
		id := k.ID()
		switch {
		case k.IsZero():
			return ErrBadKey
		case seen[id]:
			return fmt.Errorf("key %s: %w", id, ErrKeyExists)
		}
		seen[id] = true
		switch k.State {
		case KeyCurrent:
			if current++; current > 1 {
				return fmt.Errorf("two current keys: %w", ErrKeyState)
			}
			byID[id] = k.PublicKey
		case KeyNext, KeyRetired:
			byID[id] = k.PublicKey
		case KeyRevoked:
		default:
			return fmt.Errorf("key %s has the unknown state %q: %w", id, k.State, ErrKeyState)
		}
	}
	s.keys, s.byID = keys, byID
	s.doc = newDocument("application/jwk-set+json", keysMaxAge, jwks(keys))
	return nil
}

// Keys returns all keys in their original order.
func (s *KeySet) Keys() []Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.keys)
}

// Current returns the key that signs, and false if there is none.
func (s *KeySet) Current() (PublicKey, bool) {
	for _, k := range s.Keys() {
		if k.State == KeyCurrent {
			return k.PublicKey, true
		}
	}
	return PublicKey{}, false
}

// Key returns a published key. It returns [ErrKeyUnknown] for other keys, including
// revoked ones.
func (s *KeySet) Key(_ context.Context, kid string) (PublicKey, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, ok := s.byID[kid]
	if !ok {
		return PublicKey{}, ErrKeyUnknown
	}
	return k, nil
}

// Add adds a key with the state next. It returns [ErrBadKey] or [ErrKeyExists].
func (s *KeySet) Add(k PublicKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(append(slices.Clone(s.keys), Key{k, KeyNext}))
}

// Promote makes the next key with that thumbprint current, and retires the previous
// current key. It returns [ErrKeyUnknown] or [ErrKeyState].
func (s *KeySet) Promote(kid string) error {
	return s.change(kid, func(keys []Key, i int) error {
		if keys[i].State != KeyNext {
			return ErrKeyState
		}
		for j := range keys {
			if keys[j].State == KeyCurrent {
				keys[j].State = KeyRetired
			}
		}
		keys[i].State = KeyCurrent
		return nil
	})
}

// Revoke revokes a key for good, from any state. Revoking it again has no effect. It
// returns [ErrKeyUnknown] if there is no such key.
func (s *KeySet) Revoke(kid string) error {
	return s.change(kid, func(keys []Key, i int) error {
		keys[i].State = KeyRevoked
		return nil
	})
}

func (s *KeySet) change(kid string, f func(keys []Key, i int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Clone(s.keys)
	i := slices.IndexFunc(keys, func(k Key) bool { return k.ID() == kid })
	if i < 0 {
		return fmt.Errorf("key %s: %w", kid, ErrKeyUnknown)
	}
	if err := f(keys, i); err != nil {
		return fmt.Errorf("key %s, %s: %w", kid, keys[i].State, err)
	}
	return s.set(keys)
}
