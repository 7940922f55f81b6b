package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/vault"
)

// rewrapBatch is how many rows are read at a time.
const rewrapBatch = 500

// Rewrap wraps the data key of every secret in a store under the present key of a
// wrapper, where it is wrapped under another one, and tells how many it was; the
// secrets are not opened. Services may run on the store meanwhile, as long as their
// wrappers know both keys. Again it does what is left, and once it has answered
// zero, and no service seals with the old key any more, that one may go.
//
// Errors: vault.ErrSealed where something does not open under any key at hand, with
// its place; the store's.
func Rewrap(ctx context.Context, store ledger.Seals, w vault.Wrapper) (n int, err error) {
	box := vault.New(w)
	for _, kind := range ledger.SealKinds() {
		for after := ""; ; {
			rows, err := store.Seals(ctx, kind, after, rewrapBatch)
			if err != nil {
				return n, fmt.Errorf("rewrap: %w", err)
			}
			for _, one := range rows {
				done, err := rewrapOne(ctx, store, box, one)
				if err != nil {
					return n, fmt.Errorf("rewrap %s %s: %w", one.Kind, one.Owner, err)
				}
				if done {
					n++
				}
				after = one.Place
			}
			if len(rows) < rewrapBatch {
				break
			}
		}
	}
	return n, nil
}

func rewrapOne(ctx context.Context, store ledger.Seals, box *vault.Vault, one ledger.Seal) (bool, error) {
	fresh, changed, err := box.Rewrap(ctx, labelOf(one), one.Sealed)
	if err != nil || !changed {
		return false, err
	}
	if _, err := store.Reseal(ctx, one, fresh); err != nil {
		return false, err
	}
	return true, nil // where it had changed meanwhile, the next time tells
}

// labelOf is the label under which something is sealed, by the room that does it.
func labelOf(s ledger.Seal) vault.Label {
	switch s.Kind {
	case ledger.TokenSeal:
		return vault.Label{Purpose: "mandate-token", Owner: s.Owner}
	case ledger.SecretSeal, ledger.FormerSeal:
		return vault.Label{Purpose: "webhook-secret", Owner: s.Owner}
	case ledger.KeySeal:
	}
	const sessionKey = "session-key/p256"
	if mandateID, ok := strings.CutPrefix(s.Owner, sessionKey+"/"); ok {
		return vault.Label{Purpose: sessionKey, Owner: mandateID}
	}
	return vault.Label{Purpose: "service-key", Owner: s.Owner}
}
