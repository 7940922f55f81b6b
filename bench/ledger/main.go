// Command ledger measures the ledger beside what the disk alone can do, and says
// which aims it meets.
//
//	go run ./bench/ledger            # throughput, about a minute
//	go run ./bench/ledger -million   # only how costs grow to a million charges
//	go run ./bench/ledger -export    # only the export of a million charges
//	go run ./bench/ledger -reconcile # only the reconciliation of a million charges
//	go run ./bench/ledger -market    # only searches of 100,000 listings of the market
//
// With -engine PostgreSQL only that engine is measured.
//
// F is a loop that appends 4 KiB to a file and waits for the disk (write, fsync),
// measured before and after each figure, on the file system of the figure's
// database. Every figure is a ratio; bare times depend on the machine. PostgreSQL
// is a private cluster from the installed binaries with fsync on, or left out
// if there is none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// group measures one thing on an engine.
type group func(context.Context, *table, engine) error

// onDemand takes minutes each, so it is measured if it is asked for, and then alone.
var onDemand = []struct {
	name, usage string
	measure     group
}{
	{"million", "measure only how costs grow from 1,000 to 1,000,000 charges", growth},
	{"export", "measure only the export of 1,000,000 charges", exports},
	{"reconcile", "measure only the reconciliation of 1,000,000 charges", reconciles},
	{"market", "measure only searches of 100,000 listings", market},
}

func main() {
	asked := make([]*bool, len(onDemand))
	for i, g := range onDemand {
		asked[i] = flag.Bool(g.name, false, g.usage)
	}
	only := flag.String("engine", "", "measure only one engine: SQLite or PostgreSQL")
	span := flag.Duration("span", 3*time.Second, "how long to measure each figure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var groups []group
	for i, g := range onDemand {
		if *asked[i] {
			groups = append(groups, g.measure)
		}
	}
	if err := run(ctx, *only, *span, groups); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures the groups, or throughput if there are none, in a folder that it deletes.
func run(ctx context.Context, only string, span time.Duration, groups []group) error {
	dir, err := os.MkdirTemp("", "bench-ledger")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // a folder for temporary files
	files := 0
	file := func() string { return filepath.Join(dir, fmt.Sprintf("%d.db", files)) }
	stores := []engine{{name: "SQLite", open: func() (ledger.Store, error) {
		files++
		return sqlite.Open(ctx, file())
	}, address: file, commits: counted}}
	cluster, err := pgtest.New(ctx)
	switch {
	case errors.Is(err, pgtest.ErrMissing):
		fmt.Println("PostgreSQL is not installed: its figures are missing.")
	case err != nil:
		return err
	default:
		defer cluster.Close() // its guard ends it with this process
		var url string
		stores = append(stores, engine{name: "PostgreSQL", open: func() (_ ledger.Store, err error) {
			if url, err = pgtest.NewSchema(ctx, cluster.URL()); err != nil {
				return nil, err
			}
			return postgres.Open(ctx, url)
		}, address: func() string { return url }, commits: wal(cluster.URL())})
	}
	if only != "" {
		stores = slices.DeleteFunc(stores, func(e engine) bool { return e.name != only })
	}
	disk := &disk{dir: dir}
	var t table
	if len(groups) == 0 {
		groups = []group{func(ctx context.Context, t *table, e engine) error { return throughput(ctx, t, disk, e, span) }}
	}
	for _, measure := range groups {
		for _, e := range stores {
			if err := measure(ctx, &t, e); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	t.print(os.Stdout)
	return nil
}
