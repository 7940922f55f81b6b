package keys

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// Secret returns the 32-byte secret with a name, generated at the first call.
func (k *Keys) Secret(ctx context.Context, name string) ([]byte, error) {
	name = secretPrefix + name
	for range 2 {
		found, err := k.Store.SealedKeys(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read secret %s: %w", name, err)
		}
		for _, s := range found {
			if s.Name == name {
				return k.Vault.Open(ctx, label(name), s.Sealed)
			}
		}
		var fresh [32]byte
		_, _ = rand.Read(fresh[:]) // never fails
		if err := k.store(ctx, name, "current", nil, fresh[:]); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("secret %s: %w", name, ledger.ErrNotFound)
}
