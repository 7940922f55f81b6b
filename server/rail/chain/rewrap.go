package chain

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// rewrapBatch is how many grants are read at a time.
const rewrapBatch = 500

// Rewrap wraps the session keys under the vault's present key-encryption key, where
// they are wrapped under another one, and tells how many it was. Charges go on
// meanwhile. An error is the store's, or vault.ErrSealed.
func (r *Rail) Rewrap(ctx context.Context) (n int, err error) {
	for after := ""; ; {
		var grants []Record
		err := r.config.Store.View(ctx, func(tx Tx) (err error) {
			grants, err = tx.List(kindGrant, after, rewrapBatch)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("list grants: %w", err)
		}
		for _, one := range grants {
			done, err := r.rewrapGrant(ctx, one.Key)
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

// rewrapGrant replaces the sealed key of a grant, unless it has changed meanwhile.
func (r *Rail) rewrapGrant(ctx context.Context, key string) (done bool, err error) {
	grant, found, err := view[grantRecord](ctx, r.config.Store, kindGrant, key)
	if err != nil || !found || len(grant.Sealed) == 0 {
		return false, err
	}
	fresh, changed, err := r.config.Vault.Rewrap(ctx, sessionKeyLabel(common.HexToHash(key)), grant.Sealed)
	if err != nil || !changed {
		return false, err
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		now, found, err := read[grantRecord](tx, kindGrant, key)
		if done = err == nil && found && bytes.Equal(now.Sealed, grant.Sealed); !done {
			return err
		}
		now.Sealed = fresh
		return write(tx, kindGrant, key, now)
	})
	return done && err == nil, err
}
