package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/vault"
)

type keysCmd struct {
	List   keysListCmd   `cmd:"" help:"List the keys that sign mandates, and their states."`
	Rotate keysRotateCmd `cmd:"" help:"Sign with the next key, and publish a new next key. Mandates that the old key signed stay valid."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a signing key permanently: mandates that it signed become invalid."`
	Rewrap keysRewrapCmd `cmd:"" help:"Change the key-encryption key: create a new one, and encrypt all secrets in the store with it. Services keep running."`
}

// keysPlace names the store of the keys, whose service may be running.
type keysPlace struct {
	Config  configFile `help:"The configuration file of serve, which names store and key file." placeholder:"FILE" type:"existingfile" xor:"place" required:""`
	Store   string     `help:"The store: a path of an SQLite file, or a postgres:// URL." placeholder:"STORE" xor:"place" required:""`
	KeyFile string     `help:"With --store: the key file. Default: key-encryption-key beside the store." placeholder:"FILE"`
	JSON    bool       `help:"Print JSON." name:"json"`
}

// keysOpen is what a keysPlace names, open.
type keysOpen struct {
	store   database
	name    string // of the store
	wrapper *vault.Local
	keyFile string
}

// open opens store and key file for as long as use takes.
func (p keysPlace) open(ctx context.Context, use func(keysOpen) error) error {
	name, keyFile := p.Store, p.KeyFile
	open := func() (database, error) { return openStore(ctx, name, false) }
	if p.Config != "" {
		cfg, err := p.Config.read()
		if err != nil {
			return err
		}
		name, keyFile = cfg.Store, cfg.KeyFile
		open = func() (database, error) { return openOwned(ctx, cfg, false) }
	} else if keyFile == "" {
		keyFile = filepath.Join(filepath.Dir(name), "key-encryption-key")
	}
	if _, err := os.Stat(keyFile); err != nil { // reading it would make a new one
		return fmt.Errorf("key file: %w", err)
	}
	wrapper, err := vault.KeyFile(keyFile)
	if err != nil {
		return err
	}
	opened, err := open()
	if err != nil {
		return err
	}
	err = use(keysOpen{store: opened, name: name, wrapper: wrapper, keyFile: keyFile})
	if errors.Is(err, vault.ErrSealed) {
		err = fmt.Errorf("%s is not the key file of this store: %w", keyFile, err)
	}
	return errors.Join(err, opened.Close())
}

func (k keysOpen) ring() (*server.KeyRing, error) {
	return server.NewKeyRing(server.KeyRingConfig{Store: k.store, Wrapper: k.wrapper, Actor: actor()})
}

// ring opens the keys for as long as use takes.
func (p keysPlace) ring(ctx context.Context, use func(*server.KeyRing) error) error {
	return p.open(ctx, func(k keysOpen) error {
		ring, err := k.ring()
		if err != nil {
			return err
		}
		return use(ring)
	})
}

type keysListCmd struct{ keysPlace }

// Run prints all keys.
func (c keysListCmd) Run(ctx context.Context, o output) error {
	return c.ring(ctx, func(r *server.KeyRing) error {
		list, err := r.List(ctx)
		if err != nil {
			return err
		}
		return c.print(o, list)
	})
}

func (p keysPlace) print(o output, list []server.SigningKey) error {
	if p.JSON {
		if list == nil {
			list = []server.SigningKey{} // an array, not null
		}
		text, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			return fmt.Errorf("encode keys: %w", err)
		}
		_, err = fmt.Fprintf(o.out, "%s\n", text)
		return err
	}
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, "KEY\tSTATE\tSINCE\tPUBLISHED"); err != nil {
		return err
	}
	for _, k := range list {
		published := "no"
		if k.Published {
			published = "yes"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.ID, k.State, since(k).UTC().Format(time.DateTime), published); err != nil {
			return err
		}
	}
	return w.Flush()
}

// since is when a key came into its state.
func since(k server.SigningKey) time.Time {
	switch k.State {
	case mandate.KeyCurrent:
		return k.CurrentAt
	case mandate.KeyRetired:
		return k.RetiredAt
	case mandate.KeyRevoked:
		return k.RevokedAt
	case mandate.KeyNext:
	}
	return k.CreatedAt
}

type keysRotateCmd struct {
	keysPlace

	Force bool `help:"Rotate even if the next key was published less than six minutes ago, and some verifiers do not know it yet."`
}

// Run rotates; running services sign with the new key within two seconds.
func (c keysRotateCmd) Run(ctx context.Context, o output) error {
	return c.ring(ctx, func(r *server.KeyRing) error {
		k, err := r.Rotate(ctx, c.Force)
		switch {
		case errors.Is(err, server.ErrKeyTooYoung):
			return fmt.Errorf("%w (--force rotates it anyway)", err)
		case err != nil:
			return err
		case c.JSON:
			return c.print(o, []server.SigningKey{k})
		}
		_, err = fmt.Fprintf(o.out, "%s signs from now on; running services take it up within two seconds\n", k.ID)
		return err
	})
}

type keysRevokeCmd struct {
	keysPlace

	Key string `arg:"" help:"The key's id, as list prints it. Put -- before an id that begins with a dash." placeholder:"KEY"`
}

// Run revokes.
func (c keysRevokeCmd) Run(ctx context.Context, o output) error {
	return c.ring(ctx, func(r *server.KeyRing) error {
		k, err := r.Revoke(ctx, c.Key)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.print(o, []server.SigningKey{k})
		}
		_, err = fmt.Fprintf(o.out, "%s is revoked: no mandate that it signed is valid any more; running services take it up within two seconds\n", k.ID)
		return err
	})
}
