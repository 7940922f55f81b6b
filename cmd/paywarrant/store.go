package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/postgres"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	chainsqlite "github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
)

// store is a ledger.Store with a place for the sandbox's own files beside it.
type store interface {
	ledger.Store
	card.Neighbour
}

// openStore opens the store that a text names: a PostgreSQL URL, or a path of an
// SQLite file. A file that must exist and does not is an error rather than made.
func openStore(ctx context.Context, name string, create bool) (store, error) {
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		return postgres.OpenConfig(ctx, postgres.Config{URL: name, SkipMigrations: !create})
	}
	if !create {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("store: there is no file %s", name)
		}
	}
	return sqlite.Open(ctx, name)
}

// chainRecords is what the chain rail's file is called, beside the ledger's.
const chainRecords = "chain.db"

// openRecords opens the chain rail's records, beside the ledger's store.
func openRecords(beside store) records {
	return func(ctx context.Context) (chain.Store, error) {
		kept, err := chainsqlite.Open(ctx, beside.SidecarPath(chainRecords))
		if err != nil {
			return nil, fmt.Errorf("records of the chain rail: %w", err)
		}
		return kept, nil
	}
}

// openRecordsIfThere opens the records of a chain rail that runs on a store, or did;
// nil where there are none.
func openRecordsIfThere(ctx context.Context, beside store) (chain.Store, error) {
	if _, err := os.Stat(beside.SidecarPath(chainRecords)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return openRecords(beside)(ctx)
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
	store, err := openStore(ctx, cfg.Store, true)
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.out, "schema is up to date")
	return err
}
