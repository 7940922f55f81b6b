package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/vault"
)

type keysRewrapCmd struct {
	keysPlace

	Forget bool `help:"Create no new key. Encrypt the remaining secrets, then delete all keys but the current one from the key file."`
}

// Help is the longer text of the command.
func (keysRewrapCmd) Help() string {
	return "The chain rail's session keys are wrapped too. Services on this machine read the key file again when it changes. Where services run on other machines, give their key files the new " +
		"key first, as a second line, then as the first. When no service has the old one as its first any more, --forget ends it."
}

// Run rotates the key-encryption key, or forgets the old ones.
func (c keysRewrapCmd) Run(ctx context.Context, o output) error {
	return c.open(ctx, func(k keysOpen) error {
		ring, err := k.ring()
		if err != nil {
			return err
		}
		if !c.Forget {
			if err := vault.AddKey(k.keyFile); err != nil {
				return err
			}
		}
		kept, err := openRecords(ctx, k.name, k.store, false)
		if err != nil {
			return err
		}
		n, err := rewrapAll(ctx, k.store, kept, k.wrapper)
		if kept != nil {
			err = errors.Join(err, kept.Close())
		}
		if err != nil {
			return err
		}
		done := "the old key is kept until keys rewrap --forget"
		if c.Forget {
			if err := vault.ForgetKeys(k.keyFile); err != nil {
				return err
			}
			done = "all other keys are forgotten"
		}
		if err := ring.RecordRewrap(ctx, n, c.Forget); err != nil {
			return err
		}
		_, err = fmt.Fprintf(o.out, "%d secrets wrapped under the present key; %s\n", n, done)
		return err
	})
}

// rewrapAll goes over the store, and the chain rail's records if there are any,
// until nothing is left to do: services may have sealed something meanwhile.
func rewrapAll(ctx context.Context, s database, kept chain.Store, w vault.Wrapper) (all int, err error) {
	for {
		n, err := server.Rewrap(ctx, s, w)
		all += n
		if err != nil {
			return all, err
		}
		if kept != nil {
			grants, err := chain.Rewrap(ctx, kept, vault.New(w))
			n += grants
			all += grants
			if err != nil {
				return all, err
			}
		}
		if n == 0 {
			return all, nil
		}
	}
}
