package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
)

// PublishedBefore is for how long a key is published before it signs: longer than
// verifiers keep the key set (300 s), so that all of them know it by then.
const PublishedBefore = 6 * time.Minute

// maxPublished leaves room for the next key in what verifiers read of a key set.
const maxPublished = mandate.MaxJWKSKeys - 1

// Errors of [Keys.Rotate].
var (
	// ErrTooYoung: verifiers may not know the next key yet.
	ErrTooYoung = errors.New("the next key was published too short a time ago")
	// ErrTooMany: the key set would be longer than verifiers read.
	ErrTooMany = errors.New("too many keys are published")
)

// List is all keys, the oldest first. It changes nothing.
func (k *Keys) List(ctx context.Context) ([]Key, error) { return k.read(ctx) }

// Rotate makes the next key the current one, retires the one before it and
// destroys its private part, and makes another next one. With force it does so
// however short a time the next key was published. It returns the key that signs
// from now on.
//
// Errors: [ErrTooYoung], [ErrTooMany], vault.ErrSealed where the vault is not the
// one that the keys were sealed with; nothing has changed then. After any other
// error the rotation may have happened; List tells.
func (k *Keys) Rotate(ctx context.Context, force bool) (Key, error) {
	r, err := k.tend(ctx)
	if err != nil {
		return Key{}, fmt.Errorf("rotate signing keys: %w", err)
	}
	next, _ := r.in(mandate.KeyNext)
	if age := k.Clock.Now().Sub(next.CreatedAt); age < PublishedBefore && !force {
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

// promote makes a next key the current one, and another next one.
func (k *Keys) promote(ctx context.Context, next Key) error {
	if _, err := k.private(ctx, next); err != nil { // a key that does not open can never sign
		return err
	}
	if err := k.mark(ctx, next, mandate.KeyCurrent); err != nil {
		return err
	}
	return k.tidy(ctx)
}

// Revoke takes a key out of use for good: nothing that it ever signed is valid
// from then on. Where it is the current one, the next one signs. Revoking again
// changes nothing.
//
// Errors: mandate.ErrKeyUnknown; vault.ErrSealed as [Keys.Rotate].
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

// tidy makes the next key where there is none, and destroys the private parts
// that will not be used again.
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
		key.row.Sealed, key.row.ChangedAt = []byte{}, k.Clock.Now()
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
