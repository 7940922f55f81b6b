package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// callers wait for one charge each.
	callers = 32
	dollar  = ledger.Micros(1_000_000)
)

// engine is a kind of store to measure: open makes a new, empty one, address is that of the
// one opened last, commits returns how often a store has waited for the disk.
type engine struct {
	name    string
	open    func() (ledger.Store, error)
	address func() string
	commits func(context.Context, *counting) (logged, error)
}

// logged is how often a store has waited for the disk, and how much it has written
// to its log, if known.
type logged struct{ syncs, bytes int64 }

// counting counts the updates of a store.
type counting struct {
	ledger.Store

	updates atomic.Int64
}

func (c *counting) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	c.updates.Add(1)
	return c.Store.Update(ctx, keys, decide)
}

// counted takes each update for one wait for the disk.
func counted(_ context.Context, c *counting) (logged, error) {
	return logged{syncs: c.updates.Load()}, nil
}

// wal asks PostgreSQL about its log.
func wal(url string) func(context.Context, *counting) (logged, error) {
	return func(ctx context.Context, _ *counting) (l logged, err error) {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return l, err
		}
		defer conn.Close(ctx) // nothing was written
		err = conn.QueryRow(ctx, "SELECT wal_sync, wal_bytes::bigint FROM pg_stat_wal").Scan(&l.syncs, &l.bytes)
		return l, err
	}
}

// throughput measures reservations on one store.
func throughput(ctx context.Context, t *table, disk *disk, e engine, span time.Duration) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	defer store.Close() // its folder is deleted
	count := &counting{Store: store}
	l, err := ledger.New(ledger.Config{Store: count, Clock: time.Now})
	if err != nil {
		return err
	}
	defer l.Close()
	w := &work{Ledger: l}
	if err := w.prepare(ctx, callers); err != nil {
		return err
	}
	var rates [3]float64
	for i, load := range []struct {
		name     string
		callers  int
		mandates int
		aim      map[string]float64
	}{
		{"1 caller", 1, 1, map[string]float64{"SQLite": 0.4}}, // PostgreSQL: no aim
		{"32 callers, one mandate", callers, 1, map[string]float64{"SQLite": 1.5, "PostgreSQL": 0.6}},
		{"32 callers, 32 mandates", callers, callers, map[string]float64{"SQLite": 1.5, "PostgreSQL": 0.6}},
	} {
		if _, err := w.run(ctx, load.callers, load.mandates, span/6); err != nil { // warm
			return err
		}
		var (
			done    int64
			written logged
		)
		f, err := disk.around(func() (err error) {
			before, err := e.commits(ctx, count)
			if err != nil {
				return err
			}
			if done, err = w.run(ctx, load.callers, load.mandates, span); err != nil {
				return err
			}
			after, err := e.commits(ctx, count)
			written = logged{after.syncs - before.syncs, after.bytes - before.bytes}
			return err
		})
		if err != nil {
			return err
		}
		rates[i] = float64(done) / span.Seconds()
		note := fmt.Sprintf("%.0f reserves/s, F %.0f/s", rates[i], f)
		t.add(figure{what: e.name + ", Reserve, " + load.name, got: rates[i] / f, unit: " F", aim: load.aim[e.name], note: note})
		if load.callers > 1 {
			note := fmt.Sprintf("%d for %d reserves", written.syncs, done)
			if written.bytes > 0 {
				note += fmt.Sprintf(", %d bytes of log each", written.bytes/done)
			}
			t.add(figure{
				what: e.name + ", waits for the disk a charge, " + load.name, got: float64(written.syncs) / float64(done), aim: 0.2,
				below: true, note: note,
			})
		}
	}
	t.add(figure{what: e.name + ", one mandate against 32", got: rates[1] / rates[2], aim: 0.8, note: "the two above"})
	return nil
}

// work makes reservations.
type work struct {
	*ledger.Ledger

	payee    ledger.Merchant
	mandates []ledger.Mandate
}

func (w *work) prepare(ctx context.Context, mandates int) error {
	now := time.Now()
	w.payee = ledger.Merchant{ID: id.New(id.Merchant, now), Name: "Bench", Active: true, CreatedAt: now}
	for range mandates {
		m, err := w.mandate(ctx)
		if err != nil {
			return err
		}
		w.mandates = append(w.mandates, m)
	}
	return nil
}

func (w *work) mandate(ctx context.Context) (ledger.Mandate, error) {
	now := time.Now()
	s := ledger.Session{
		Hash: id.Hash(id.NewCapability(id.Session)), MerchantID: w.payee.ID, Status: ledger.SessionPending, CreatedAt: now,
		ExpiresAt: now.Add(time.Hour), Terms: ledger.Terms{
			MaxPerTx: 100 * dollar, MaxMonthly: 100_000_000 * dollar, Payees: []string{w.payee.ID},
			Rails: []rail.Name{rail.Card}, ExpiresAt: now.AddDate(1, 0, 0).Truncate(time.Second),
		},
	}
	if err := w.CreateSession(ctx, s); err != nil {
		return ledger.Mandate{}, err
	}
	return w.CompleteSession(ctx, ledger.Completion{
		SessionHash: s.Hash, MandateID: id.New(id.Mandate, now), Terms: s.Terms, SealedToken: []byte("sealed"),
	})
}

func (w *work) request(m ledger.Mandate) ledger.Reserve {
	charge := id.New(id.Charge, time.Now())
	return ledger.Reserve{
		ChargeID: charge, MandateID: m.ID, TokenValid: true, Payee: w.payee, Amount: dollar, Currency: "usd",
		Description: "bench", Metadata: map[string]string{"order": "1"}, Rails: []rail.Name{rail.Card},
		IdempotencyKey: "key-" + charge, Fingerprint: id.Hash(charge), RequestID: "req_1", Lease: time.Hour,
	}
}

// run makes reservations for a while and returns how many were made.
func (w *work) run(ctx context.Context, callers, mandates int, span time.Duration) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		all  sync.WaitGroup
		done atomic.Int64
		end  = time.Now().Add(span)
	)
	for i := range callers {
		all.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				if _, err := w.Reserve(ctx, w.request(w.mandates[i%mandates])); err != nil {
					cancel(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return done.Load(), context.Cause(ctx)
}
