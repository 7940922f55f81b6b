package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
)

// PublishedBefore is the time for which a key is published before it signs. It is longer
// than verifiers cache the key set (300 s), so all of them have the key by then.
const PublishedBefore = 6 * time.Minute

// maxPublished leaves one key of the longest key set that verifiers read for the next key.
const maxPublished = mandate.MaxJWKSKeys - 1

// Errors of [Keys.Rotate].
var (
	// ErrTooYoung reports that verifiers may not have the next key yet.
	ErrTooYoung = errors.New("the next key was published too short a time ago")
	// ErrTooMany reports that the key set would be longer than verifiers read.
	ErrTooMany = errors.New("too many keys are published")
)

// List returns all keys, oldest first.
func (k *Keys) List(ctx context.Context) ([]Key, error) { return k.read(ctx) }

// Rotate makes the next key current, retires the previous one, destroys its private part,
// and adds a new next key. If force is set, the next key may have been published only a
// moment ago. Rotate returns the current key.
//
// It returns [ErrTooYoung], [ErrTooMany], or vault.ErrSealed if another vault sealed the
// keys; nothing has changed then. After any other error the rotation may have happened;
// List shows whether it did.
func (k *Keys) Rotate(ctx context.Context, force bool) (Key, error) {
	r, err := k.tend(ctx)
	if err != nil {
		return Key{}, fmt.Errorf("rotate signing keys: %w", err)
	}
	next, _ := r.in(mandate.KeyNext)
	if age := k.Clock().Sub(next.CreatedAt); age < PublishedBefore && !force {
		return Key{}, fmt.Errorf("rotate signing keys: %w: %s of %s", ErrTooYoung, age.Truncate(time.Second), PublishedBefore)
	}
	if len(r.known()) >= maxPublished {
		return Key{}, fmt.Errorf("rotate signing keys: %w: %d", ErrTooMany, len(r.known()))
	}
	if err := k.promote(ctx, next); err != nil {
		return Key{}, fmt.Errorf("rotate signing keys: %w", err)
	}
	return k.find(ctx, next.ID())
}

// promote makes a next key current, and adds a new next key.
func (k *Keys) promote(ctx context.Context, next Key) error {
	if _, err := k.private(ctx, next); err != nil { // a key that does not open can never sign
		return err
	}
	if err := k.mark(ctx, next, mandate.KeyCurrent); err != nil {
		return err
	}
	return k.tidy(ctx)
}

// Revoke ends a key for good: mandates that it signed are no longer valid. If it is the
// current key, the next key becomes current. Repeating it changes nothing.
//
// It returns mandate.ErrKeyUnknown, or vault.ErrSealed as [Keys.Rotate] does.
func (k *Keys) Revoke(ctx context.Context, kid string) (Key, error) {
	r, err := k.tend(ctx)
	if err != nil {
		return Key{}, fmt.Errorf("revoke signing key: %w", err)
	}
	i := slices.IndexFunc(r, func(one Key) bool { return one.ID() == kid })
	if i < 0 {
		return Key{}, fmt.Errorf("revoke signing key %q: %w", kid, mandate.ErrKeyUnknown)
	}
	if r[i].State == mandate.KeyCurrent {
		next, _ := r.in(mandate.KeyNext)
		if err := k.promote(ctx, next); err != nil {
			return Key{}, fmt.Errorf("revoke signing key %s: %w", kid, err)
		}
	}
	if err := k.mark(ctx, r[i], mandate.KeyRevoked); err != nil {
		return Key{}, fmt.Errorf("revoke signing key: %w", err)
	}
	if err := k.tidy(ctx); err != nil {
		return Key{}, fmt.Errorf("revoke signing key %s: %w", kid, err)
	}
	return k.find(ctx, kid)
}

// tidy adds a next key if there is none, and destroys private parts that are no longer
// used.
func (k *Keys) tidy(ctx context.Context) error {
	r, err := k.tend(ctx)
	if err != nil {
		return err
	}
	for _, key := range r {
		over := key.State == mandate.KeyRetired || key.State == mandate.KeyRevoked
		if !over || len(key.row.Sealed) == 0 {
			continue
		}
		key.row.Sealed, key.row.ChangedAt = []byte{}, k.Clock()
		if err := k.Store.PutSealedKey(ctx, key.row); err != nil {
			return fmt.Errorf("destroy private part of key %s: %w", key.ID(), err)
		}
	}
	return nil
}

func (k *Keys) find(ctx context.Context, kid string) (Key, error) {
	r, err := k.read(ctx)
	if err != nil {
		return Key{}, err
	}
	i := slices.IndexFunc(r, func(one Key) bool { return one.ID() == kid })
	if i < 0 {
		return Key{}, fmt.Errorf("key %s: %w", kid, mandate.ErrKeyUnknown)
	}
	return r[i], nil
}
