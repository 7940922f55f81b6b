package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// surround makes what is around the service, and builds it: a folder, a card
// processor with faults in this process, a database if one is asked for. Clear
// ends it all.
func (d *drill) surround(ctx context.Context, faults card.Faults, args ...string) (err error) {
	if d.dir, err = os.MkdirTemp("", "crash-"); err != nil {
		return err
	}
	d.closers = append(d.closers, func() error { return os.RemoveAll(d.dir) })
	d.processor, err = card.OpenProcessor(ctx, card.ProcessorConfig{
		Path: filepath.Join(d.dir, "processor.db"), Faults: faults,
		Random: rand.New(rand.NewPCG(d.Seed, 1)), // faults are to be repeatable
	})
	if err != nil {
		return err
	}
	gateway := httptest.NewServer(d.processor.Handler())
	d.closers = append(d.closers, func() error { gateway.Close(); return d.processor.Close() })
	args = append(args, "--processor", gateway.URL)
	d.store = filepath.Join(d.dir, "data", "pay.db")
	if d.Postgres {
		cluster, err := pgtest.New(ctx)
		if err != nil {
			return err
		}
		d.closers = append(d.closers, cluster.Close)
		d.store = cluster.URL()
		args = append(args, "--postgres", d.store)
	}
	d.service, err = build(ctx, d.dir, args...)
	return err
}

// clear ends the service, if it runs, and what is around it.
func (d *drill) clear() (err error) {
	if d.service != nil && d.service.running != nil {
		err = d.service.running.Kill()
	}
	for _, end := range slices.Backward(d.closers) {
		err = errors.Join(err, end())
	}
	return err
}

// open opens the ledger of a service that does not run.
func (d *drill) open(ctx context.Context) (store.Store, error) {
	if d.Postgres {
		return postgres.Open(ctx, d.store)
	}
	return sqlite.Open(ctx, d.store)
}

// decidedWithin is how long recovery may take after the last restart.
const decidedWithin = 2 * time.Minute

// healed stops the service and compares, and has it run on for as long as something
// is undecided and recovery may still do it.
func (d *drill) healed(ctx context.Context, compare func() (undecided int, err error)) error {
	if err := d.service.running.Stop(); err != nil {
		return err
	}
	for deadline := time.Now().Add(decidedWithin); ; {
		if undecided, err := compare(); err != nil || undecided == 0 || time.Now().After(deadline) {
			return err
		}
		if _, err := d.service.start(ctx); err != nil {
			return err
		}
		if err := sleep.For(ctx, 3*time.Second); err != nil {
			return err
		}
		if err := d.service.running.Stop(); err != nil {
			return err
		}
	}
}
