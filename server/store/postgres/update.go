package postgres

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/pgdb"
)

// rollbackWithin bounds what giving up a transaction may take.
const rollbackWithin = 5 * time.Second

// once runs one transaction: a round trip that begins it and loads, and one that
// saves and commits. lost tells that the connection broke, so that whether it was
// committed is unknown.
func (s *Store) once(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) (lost bool, err error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return true, fmt.Errorf("connect: %w", err)
	}
	defer pooled.Release()
	conn := pooled.Conn()
	defer func() {
		if err != nil && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
			rollback(ctx, conn)
		}
		lost = conn.IsClosed()
	}()
	load := &pgx.Batch{}
	load.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	state := queueLoad(load, keys)
	if err := conn.SendBatch(ctx, load).Close(); err != nil {
		return false, fmt.Errorf("load: %w", err)
	}
	held := heldBy(keys, state)
	failpoint.Hit(failpoint.StoreLoaded)
	effects, err := decide(state)
	if err != nil {
		return false, decided{err}
	}
	if err := held.covers(effects); err != nil {
		return false, decided{err}
	}
	failpoint.Hit(failpoint.StoreDecided)
	save := &pgx.Batch{}
	queueSave(save, effects)
	save.Queue("COMMIT")
	if err := conn.SendBatch(ctx, save).Close(); err != nil {
		return false, fmt.Errorf("save: %w", err)
	}
	failpoint.Hit(failpoint.StoreCommitted)
	return false, nil
}

// decided wraps an error that is no failure of the database.
type decided struct{ error }

func (d decided) Unwrap() error { return d.error }

// rollback gives up a transaction, whether or not the caller still waits. Where it
// fails the connection is dropped, which ends the transaction too.
func rollback(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
	defer cancel()
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = conn.Close(ctx)
	}
}

// queueLoad queues what loads the rows that keys name into the state it returns,
// which is complete once the batch has run.
func queueLoad(b *pgx.Batch, keys ledger.Keys) *ledger.State {
	s := &ledger.State{
		Sessions: map[string]ledger.Session{}, Mandates: map[string]ledger.Mandate{},
		Charges: map[string]ledger.Charge{}, Tallies: map[ledger.TallyKey]ledger.Tally{},
		Idempotency: map[ledger.IdempotencyKey]ledger.Idempotency{},
		Checkouts:   map[string]ledger.Checkout{}, Instruments: map[string]ledger.Instrument{},
	}
	if len(keys.Sessions) > 0 {
		into(b.Queue(pgdb.LockSessions, keys.Sessions), row.Session, func(r ledger.Session) { s.Sessions[r.Hash] = r })
	}
	if len(keys.Mandates) > 0 {
		into(b.Queue(pgdb.LockMandates, keys.Mandates), row.Mandate, func(r ledger.Mandate) { s.Mandates[r.ID] = r })
	}
	charge := func(r ledger.Charge) { s.Charges[r.ID] = r }
	if len(keys.Charges) > 0 {
		into(b.Queue(pgdb.LockCharges, keys.Charges), row.Charge, charge)
	}
	if len(keys.Checkouts) > 0 {
		into(b.Queue(pgdb.LockCheckouts, keys.Checkouts), row.Checkout, func(r ledger.Checkout) { s.Checkouts[r.Entropy] = r })
	}
	if len(keys.Instruments) > 0 {
		into(b.Queue(pgdb.LockInstruments, keys.Instruments), row.Instrument, func(r ledger.Instrument) { s.Instruments[r.Reference] = r })
	}
	if len(keys.Tallies) > 0 {
		a := columns(keys.Tallies, func(k ledger.TallyKey) db.TallyParams {
			return db.TallyParams{MerchantID: k.MerchantID, MandateID: k.MandateID}
		})
		into(b.Queue(pgdb.LockTallies, a...), row.Tally, func(r ledger.Tally) { s.Tallies[r.TallyKey] = r })
	}
	if len(keys.Idempotency) > 0 {
		a := columns(keys.Idempotency, row.IdempotencyKey)
		into(b.Queue(pgdb.Idempotencies, a...), row.Idempotency, func(r ledger.Idempotency) { s.Idempotency[r.IdempotencyKey] = r })
		into(b.Queue(pgdb.ChargesOfKeys, a...), row.Charge, charge) // after the keys: what they name is there by now
	}
	return s
}

// into has each row of a query's answer converted and kept.
func into[D, R any](q *pgx.QueuedQuery, convert func(D) (R, error), keep func(R)) {
	q.Query(func(rows pgx.Rows) error {
		stored, err := pgx.CollectRows(rows, pgx.RowToStructByPos[D])
		if err != nil {
			return err
		}
		for _, d := range stored {
			r, err := convert(d)
			if err != nil {
				return err
			}
			keep(r)
		}
		return nil
	})
}

// queueSave queues a statement for all rows of each kind. Updates come in key
// order too, though their rows are locked already.
func queueSave(b *pgx.Batch, e ledger.Effects) {
	exec(b, pgdb.InsertSessions, e.Insert.Sessions, row.InsertSession)
	exec(b, pgdb.UpdateSessions, e.Update.Sessions, row.UpdateSession)
	exec(b, pgdb.InsertMandates, e.Insert.Mandates, row.InsertMandate)
	exec(b, pgdb.UpdateMandates, e.Update.Mandates, row.UpdateMandate)
	exec(b, pgdb.InsertIdempotencies, e.Insert.Idempotency, row.InsertIdempotency)
	exec(b, pgdb.InsertCharges, e.Insert.Charges, row.InsertCharge)
	exec(b, pgdb.UpdateCharges, e.Update.Charges, row.UpdateCharge)
	exec(b, pgdb.InsertTallies, e.Insert.Tallies, row.InsertTally)
	exec(b, pgdb.UpdateTallies, e.Update.Tallies, row.UpdateTally)
	exec(b, pgdb.InsertPostings, e.Insert.Postings, row.InsertPosting)
	exec(b, pgdb.InsertCheckouts, e.Insert.Checkouts, row.InsertCheckout)
	exec(b, pgdb.UpdateCheckouts, e.Update.Checkouts, row.UpdateCheckout)
	exec(b, pgdb.InsertInstruments, e.Insert.Instruments, row.InsertInstrument)
	exec(b, pgdb.UpdateInstruments, e.Update.Instruments, row.UpdateInstrument)
	exec(b, pgdb.InsertUnwindings, e.Insert.Unwindings, row.InsertUnwinding)
	if len(e.Insert.Conflicts) > 0 { // those that exist already are no error
		b.Queue(pgdb.InsertOutcomeConflicts, columns(e.Insert.Conflicts, row.InsertOutcomeConflict)...)
	}
	insertEvents(b, e.Insert.Events)
}

// insertEvents queues what gives events their places, at the ends of their merchants'
// streams. Who has taken places of a merchant keeps the others from taking later ones
// until they are committed: no reader of a stream comes past one that is still to
// appear. It is the last that is locked, and in the order of merchants.
func insertEvents(b *pgx.Batch, events []ledger.Event) {
	if len(events) == 0 {
		return
	}
	row.NumberEvents(events)
	b.Queue(pgdb.InsertEvents, columns(events, row.InsertEvent)...).Query(func(rows pgx.Rows) error {
		placed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pgdb.InsertEventsRow])
		if err != nil {
			return err
		}
		if len(placed) != len(events) {
			return fmt.Errorf("%w: %d of %d events saved", ledger.ErrInvariant, len(placed), len(events))
		}
		for _, p := range placed {
			i := slices.IndexFunc(events, func(e ledger.Event) bool { return e.ID == p.ID })
			events[i].StreamOffset = p.Place
		}
		return nil
	})
}

func exec[R, P any](b *pgx.Batch, statement string, rows []R, params func(R) P) {
	if len(rows) == 0 {
		return
	}
	b.Queue(statement, columns(rows, params)...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(len(rows)) {
			return fmt.Errorf("%w: %d of %d %T rows saved", ledger.ErrInvariant, tag.RowsAffected(), len(rows), rows)
		}
		return nil
	})
}

// columns turns rows into one array for each field of their parameters.
func columns[R, P any](rows []R, params func(R) P) []any {
	t := reflect.TypeFor[P]()
	arrays := make([]reflect.Value, t.NumField())
	for i := range arrays {
		arrays[i] = reflect.MakeSlice(reflect.SliceOf(t.Field(i).Type), len(rows), len(rows))
	}
	for n, r := range rows {
		p := reflect.ValueOf(params(r))
		for i, a := range arrays {
			a.Index(n).Set(p.Field(i))
		}
	}
	out := make([]any, len(arrays))
	for i, a := range arrays {
		out[i] = a.Interface()
	}
	return out
}
