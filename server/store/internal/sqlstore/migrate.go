package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrOldSchema: the schema lacks migrations, and none were to be applied.
var ErrOldSchema = errors.New("ledger: schema is older than this program")

// Migrate brings the schema up to date. One that is newer than this program is
// left as it is: migrations only add, so the program's statements still run. Before the
// first release, the seventh, the tenth, the thirteenth to fifteenth, the
// eighteenth, the nineteenth and the twenty-second do more: programs from before them
// have to end.
func Migrate(ctx context.Context, engine Engine, pool *sql.DB) error {
	p, err := provider(engine, pool)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// CheckSchema returns [ErrOldSchema] where migrations are to be applied.
func CheckSchema(ctx context.Context, engine Engine, pool *sql.DB) error {
	p, err := provider(engine, pool)
	if err != nil {
		return err
	}
	pending, err := p.HasPending(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if pending {
		return ErrOldSchema
	}
	return nil
}

func provider(engine Engine, pool *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	if engine.Rewrite != nil {
		files = rewritten{FS: files, rewrite: engine.Rewrite}
	}
	p, err := goose.NewProvider(engine.Dialect, pool, files, goose.WithGoMigrations(
		goose.NewGoMigration(14, &goose.GoFunc{RunTx: fillTables}, nil),
	))
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	return p, nil
}

// rewritten is the migrations in an engine's own words.
type rewritten struct {
	fs.FS

	rewrite *strings.Replacer
}

// Open opens a file; of a migration it returns the rewritten text.
func (r rewritten) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return f, err
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return rewrittenFile{File: f, Reader: strings.NewReader(r.rewrite.Replace(string(content)))}, nil
}

type rewrittenFile struct {
	fs.File
	*strings.Reader
}

// Read reads the rewritten text.
func (f rewrittenFile) Read(p []byte) (int, error) { return f.Reader.Read(p) }
