package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// rewrapBatch is the number of rows read at a time.
const rewrapBatch = 500

// Rewrap wraps the data keys of all secrets in a store under the wrapper's current key,
// and returns the number of data keys that it wrapped. It does not open the secrets.
// Services may run on the store as long as their wrappers have both keys. Rewrap may be
// repeated after an error. Once it returns zero and no service seals with the old key,
// that key can be destroyed.
//
// It returns vault.ErrSealed with the secret's name if no available key opens it; other
// errors are those of the store.
func Rewrap(ctx context.Context, db store.Secrets, w vault.Wrapper) (n int, err error) {
	box := vault.New(w)
	for _, kind := range store.SealKinds() {
		for after := ""; ; {
			rows, err := db.Seals(ctx, kind, after, rewrapBatch)
			if err != nil {
				return n, fmt.Errorf("rewrap: %w", err)
			}
			for _, one := range rows {
				done, err := rewrapOne(ctx, db, box, one)
				if err != nil {
					return n, fmt.Errorf("rewrap %s %s: %w", one.Kind, one.Owner, err)
				}
				if done {
					n++
				}
				after = one.ID
			}
			if len(rows) < rewrapBatch {
				break
			}
		}
	}
	return n, nil
}

func rewrapOne(ctx context.Context, db store.Secrets, box *vault.Vault, one store.Seal) (bool, error) {
	fresh, changed, err := box.Rewrap(ctx, labelOf(one), one.Sealed)
	if err != nil || !changed {
		return false, err
	}
	if _, err := db.Reseal(ctx, one, fresh); err != nil {
		return false, err
	}
	return true, nil // if the secret changed concurrently, the next call wraps it
}

// labelOf returns the label under which the owning package sealed a secret.
func labelOf(s store.Seal) vault.Label {
	switch s.Kind {
	case store.TokenSeal:
		return vault.Label{Purpose: "mandate-token", Owner: s.Owner}
	case store.SecretSeal, store.PreviousSeal:
		return vault.Label{Purpose: "webhook-secret", Owner: s.Owner}
	case store.KeySeal:
	}
	const sessionKey = "session-key/p256"
	if mandateID, ok := strings.CutPrefix(s.Owner, sessionKey+"/"); ok {
		return vault.Label{Purpose: sessionKey, Owner: mandateID}
	}
	return vault.Label{Purpose: "service-key", Owner: s.Owner}
}
