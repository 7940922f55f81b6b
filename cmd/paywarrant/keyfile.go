package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// openKeyFile reads the key file of a store. A missing file is created only if the store
// has no sealed secrets, because a new key could not open them.
func openKeyFile(ctx context.Context, file string, s store.Secrets) (*vault.Local, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		sealed, err := hasSecrets(ctx, s)
		if err != nil {
			return nil, err
		}
		if sealed {
			return nil, fmt.Errorf("key_file: %s does not exist, and the store has secrets that only its key opens: restore the file", file)
		}
	}
	return vault.KeyFile(file)
}

// hasSecrets reports whether a store has sealed secrets.
func hasSecrets(ctx context.Context, s store.Secrets) (bool, error) {
	for _, kind := range store.SealKinds() {
		seals, err := s.Seals(ctx, kind, "", 1)
		if err != nil {
			return false, fmt.Errorf("read sealed secrets: %w", err)
		}
		if len(seals) > 0 {
			return true, nil
		}
	}
	return false, nil
}
