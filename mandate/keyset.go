package mandate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// KeyState is where a signing key is in its life: next, current, retired,
// revoked, in this order, none of them twice.
type KeyState string

// The states of a key.
const (
	// KeyNext is published and does not sign yet: verifiers get to know it before they need it.
	KeyNext KeyState = "next"
	// KeyCurrent signs. There is at most one.
	KeyCurrent KeyState = "current"
	// KeyRetired signs no more; what it signed stays valid, and it stays
	// published for longer than the longest mandate.
	KeyRetired KeyState = "retired"
	// KeyRevoked is not published: nothing it ever signed is valid.
	KeyRevoked KeyState = "revoked"
)

// Errors of [KeySet].
var (
	// ErrKeyState tells that a key is not in a state for what was asked.
	ErrKeyState = errors.New("key is not in the state for that")
	// ErrKeyExists tells that a key is already there; a revoked one never comes back.
	ErrKeyExists = errors.New("key exists")
)

// Key is a signing key's public part and its state.
type Key struct {
	PublicKey
	State KeyState
}

// KeySet is the issuer's set of signing keys, public parts only. It is a
// [KeySource] for the service itself and publishes the set to others through
// [KeySet.Handler]. The service keeps keys and states in its store; here they
// are checked and served.
type KeySet struct {
	mu   sync.RWMutex
	keys []Key
	byID map[string]PublicKey // those that are published
	doc  document
}

// NewKeySet makes a set of the keys. Errors: those of [KeySet.Replace].
func NewKeySet(keys ...Key) (*KeySet, error) {
	s := &KeySet{}
	return s, s.Replace(keys...)
}

// Replace sets all keys at once, as they were stored. Errors: [ErrBadKey] for
// a zero key, [ErrKeyExists] for a key twice, [ErrKeyState] for an unknown
// state or two current keys; the set is then as before.
func (s *KeySet) Replace(keys ...Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(slices.Clone(keys))
}

// set checks keys and takes them over. The lock is held.
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

// Keys are all keys, in the order in which they came.
func (s *KeySet) Keys() []Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.keys)
}

// Current is the key that signs, and whether there is one.
func (s *KeySet) Current() (PublicKey, bool) {
	for _, k := range s.Keys() {
		if k.State == KeyCurrent {
			return k.PublicKey, true
		}
	}
	return PublicKey{}, false
}

// Key is a published key. Errors: [ErrKeyUnknown], also for revoked ones.
func (s *KeySet) Key(_ context.Context, kid string) (PublicKey, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k, ok := s.byID[kid]
	if !ok {
		return PublicKey{}, ErrKeyUnknown
	}
	return k, nil
}

// Add puts a new key into the state next. Errors: [ErrBadKey], [ErrKeyExists].
func (s *KeySet) Add(k PublicKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(append(slices.Clone(s.keys), Key{k, KeyNext}))
}

// Promote makes the next key with that thumbprint the current one; the one
// before it is retired. Errors: [ErrKeyUnknown], [ErrKeyState].
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

// Revoke takes a key out of use for good, from any state; doing it again
// changes nothing. Errors: [ErrKeyUnknown].
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
