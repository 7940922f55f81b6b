package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	chainpostgres "github.com/paywarrant/paywarrant/server/rail/chain/postgres"
	chainsqlite "github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// database is the service's store with the paths of the sandbox's own files beside it.
type database interface {
	store.Store
	card.SidecarStore
}

// onPostgres reports whether a text names a PostgreSQL database, and not a file.
func onPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// checkStore reports what is wrong with a text that names a store.
func checkStore(name string) error {
	scheme, _, isURL := strings.Cut(name, "://")
	switch {
	case onPostgres(name):
		return nil
	case isURL:
		return fmt.Errorf("store: %s:// is not supported: give the path of an SQLite file, or a postgres:// URL", scheme)
	}
	folder := filepath.Dir(name)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("store: there is no folder %s", folder)
	}
	return nil
}

// openStore opens the store that a text names: a PostgreSQL URL, or a path of an
// SQLite file. A file that must exist and does not is an error rather than made.
func openStore(ctx context.Context, name string, create bool) (database, error) {
	if err := checkStore(name); err != nil {
		return nil, err
	}
	if onPostgres(name) {
		return postgres.OpenConfig(ctx, postgres.Config{URL: name, SkipMigrations: !create})
	}
	if !create {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("store: there is no file %s", name)
		}
	}
	return sqlite.Open(ctx, name)
}

// openOwned opens the store of a configuration. It refuses the store of another service. A
// store without a service becomes this one's if create is set.
func openOwned(ctx context.Context, cfg config, create bool) (database, error) {
	s, err := openStore(ctx, cfg.Store, create)
	if err != nil {
		return nil, err
	}
	own := server.VerifyStore
	if create {
		own = server.ClaimStore
	}
	if err := own(ctx, s, server.Mode(cfg.Mode), cfg.BaseURL, cfg.Moved); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// chainRecords is what the chain rail's file is called, beside the ledger's.
const chainRecords = "chain.db"

// openRecords opens the chain rail's records, where the service's store of that name
// is: in the same database, or in a file beside it. If they must exist and do
// not, there is nothing to open, and no error.
func openRecords(ctx context.Context, name string, beside database, create bool) (chain.Store, error) {
	kept, err := openRecordsAt(ctx, name, beside, create)
	if err != nil {
		return nil, fmt.Errorf("records of the chain rail: %w", err)
	}
	return kept, nil
}

func openRecordsAt(ctx context.Context, name string, beside database, create bool) (chain.Store, error) {
	if onPostgres(name) {
		kept, err := chainpostgres.OpenConfig(ctx, chainpostgres.Config{URL: name, MustExist: !create})
		if errors.Is(err, chainpostgres.ErrNoRecords) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return kept, nil
	}
	path := beside.SidecarPath(chainRecords)
	if _, err := os.Stat(path); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	kept, err := chainsqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return kept, nil
}

type migrateCmd struct {
	Config configFile `required:"" help:"The configuration file of serve." placeholder:"FILE" type:"existingfile"`
}

// Run brings the schema up to date, which opening the store does.
func (c migrateCmd) Run(ctx context.Context, o output) error {
	cfg, err := c.Config.read()
	if err != nil {
		return err
	}
	store, err := openOwned(ctx, cfg, true)
	if err != nil {
		return err
	}
	if cfg.Chain != nil {
		var kept chain.Store
		if kept, err = openRecords(ctx, cfg.Store, store, true); err == nil {
			err = kept.Close()
		}
	}
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.out, "schema is up to date")
	return err
}
