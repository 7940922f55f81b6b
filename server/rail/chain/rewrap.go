package chain

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/vault"
)

// rewrapBatch is how many grants are read at a time.
const rewrapBatch = 500

// Rewrap wraps the session keys in a rail's records under the vault's present
// key-encryption key, where they are wrapped under another one, and tells how many
// it was. The rail may run meanwhile, here or in another process, as long as its
// vault knows both keys; again it does what is left. An error is the store's, or
// vault.ErrSealed.
func Rewrap(ctx context.Context, store Store, v *vault.Vault) (n int, err error) {
	for after := ""; ; {
		var grants []Record
		err := store.View(ctx, func(tx Tx) (err error) {
			grants, err = tx.List(kindGrant, after, rewrapBatch)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("list grants: %w", err)
		}
		for _, one := range grants {
			done, err := rewrapGrant(ctx, store, v, one.Key)
			if err != nil {
				return n, fmt.Errorf("rewrap session key of %s: %w", one.Key, err)
			}
			if done {
				n++
			}
			after = one.Key
		}
		if len(grants) < rewrapBatch {
			return n, nil
		}
	}
}

// Rewrap is [Rewrap] of the rail's own records.
func (r *Rail) Rewrap(ctx context.Context) (n int, err error) {
	return Rewrap(ctx, r.config.Store, r.config.Vault)
}

// rewrapGrant replaces the sealed key of a grant. Where it has changed meanwhile, the
// next time tells.
func rewrapGrant(ctx context.Context, store Store, v *vault.Vault, key string) (done bool, err error) {
	grant, found, err := view[grantRecord](ctx, store, kindGrant, key)
	if err != nil || !found || len(grant.Sealed) == 0 {
		return false, err
	}
	fresh, changed, err := v.Rewrap(ctx, sessionKeyLabel(common.HexToHash(key)), grant.Sealed)
	if err != nil || !changed {
		return false, err
	}
	err = store.Update(ctx, func(tx Tx) error {
		now, found, err := read[grantRecord](tx, kindGrant, key)
		if err != nil || !found || !bytes.Equal(now.Sealed, grant.Sealed) {
			return err
		}
		now.Sealed = fresh
		return write(tx, kindGrant, key, now)
	})
	return err == nil, err
}
