package chain

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Rewrap wraps the session keys and the keys of session accounts of a rail's records with the vault's present
// key-encryption key, and returns the number of keys that were wrapped with another
// one. The rail may run meanwhile, here or in another process, as long as its vault
// knows both keys. A second call does what is left. The error is the store's, or
// vault.ErrSealed.
func Rewrap(ctx context.Context, store Store, v *vault.Vault) (n int, err error) {
	for kind, rewrap := range map[string]func(context.Context, Store, *vault.Vault, string) (bool, error){
		kindGrant: rewrapGrant, kindAccount: rewrapAccount,
	} {
		done, err := rewrapAll(ctx, store, kind, func(key string) (bool, error) { return rewrap(ctx, store, v, key) })
		if n += done; err != nil {
			return n, err
		}
	}
	return n, nil
}

// rewrapAll wraps the keys of all records of a kind.
func rewrapAll(ctx context.Context, store Store, kind string, rewrap func(key string) (bool, error)) (n int, err error) {
	for after := ""; ; {
		list, err := records.List(ctx, store, kind, after, page)
		if err != nil {
			return n, fmt.Errorf("list records of kind %s: %w", kind, err)
		}
		for _, one := range list {
			done, err := rewrap(one.Key)
			if err != nil {
				return n, fmt.Errorf("rewrap key of %s %s: %w", kind, one.Key, err)
			}
			if done {
				n++
			}
			after = one.Key
		}
		if len(list) < page {
			return n, nil
		}
	}
}

// Rewrap is [Rewrap] of the rail's own records.
func (r *Rail) Rewrap(ctx context.Context) (n int, err error) {
	return Rewrap(ctx, r.config.Store, r.config.Vault)
}

// rewrapGrant replaces the sealed key of a grant, and reports whether it did. It skips
// a key that changed meanwhile.
func rewrapGrant(ctx context.Context, store Store, v *vault.Vault, key string) (done bool, err error) {
	grant, found, err := records.Load[grantRecord](ctx, store, kindGrant, key)
	if err != nil || !found || len(grant.Sealed) == 0 {
		return false, err
	}
	fresh, changed, err := v.Rewrap(ctx, sessionKeyLabel(common.HexToHash(key)), grant.Sealed)
	if err != nil || !changed {
		return false, err
	}
	err = store.Update(ctx, func(tx Tx) error {
		now, found, err := records.Get[grantRecord](tx, kindGrant, key)
		if err != nil || !found || !bytes.Equal(now.Sealed, grant.Sealed) {
			return err
		}
		now.Sealed = fresh
		return records.Put(tx, kindGrant, key, now)
	})
	return err == nil, err
}
