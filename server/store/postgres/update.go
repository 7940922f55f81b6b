package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// The statements of an Update.
var (
	lockSessions    = named[struct{ Hash string }]("LockSessions")
	lockMandates    = named[struct{ ID string }]("LockMandates")
	windowsOf       = named[struct{ ID string }]("Windows")
	lockCharges     = named[struct{ ID string }]("LockCharges")
	lockCheckouts   = named[struct{ Entropy string }]("LockCheckouts")
	lockInstruments = named[struct{ Reference string }]("LockInstruments")
	lockTallies     = named[db.TallyParams]("LockTallies")
	idempotencies   = named[db.IdempotencyParams]("Idempotencies")
	chargesOfKeys   = named[db.IdempotencyParams]("ChargesOfKeys")

	insertSessions         = named[db.InsertSessionParams]("InsertSessions")
	updateSessions         = named[db.UpdateSessionParams]("UpdateSessions")
	insertMandates         = named[db.InsertMandateParams]("InsertMandates")
	updateMandates         = named[db.UpdateMandateParams]("UpdateMandates")
	updateEmail            = named[db.UpdateEmailParams]("UpdateEmail")
	updatePaused           = named[db.UpdatePausedParams]("UpdatePaused")
	updateCard             = named[db.UpdateCardParams]("UpdateCard")
	updateLimits           = named[db.UpdateLimitsParams]("UpdateLimits")
	insertWindows          = named[db.InsertWindowParams]("InsertWindows")
	updateWindows          = named[db.UpdateWindowParams]("UpdateWindows")
	insertIdempotencies    = named[db.InsertIdempotencyParams]("InsertIdempotencies")
	insertCharges          = named[db.InsertChargeParams]("InsertCharges")
	updateCharges          = named[db.UpdateChargeParams]("UpdateCharges")
	updateChargeRefunds    = named[db.UpdateChargeRefundsParams]("UpdateChargeRefunds")
	updateWrittenOff       = named[db.UpdateWrittenOffParams]("UpdateWrittenOff")
	lockTabs               = named[db.UnfinishedTabsParams]("LockTabs")
	insertTabs             = named[db.InsertTabParams]("InsertTabs")
	updateTabs             = named[db.UpdateTabParams]("UpdateTabs")
	lockRefunds            = named[struct{ ID string }]("LockRefunds")
	insertRefunds          = named[db.InsertRefundParams]("InsertRefunds")
	updateRefunds          = named[db.UpdateRefundParams]("UpdateRefunds")
	updateChargeSteps      = named[db.UpdateChargeStepParams]("UpdateChargeSteps")
	insertTallies          = named[db.InsertTallyParams]("InsertTallies")
	updateTallies          = named[db.UpdateTallyParams]("UpdateTallies")
	insertPostings         = named[db.InsertPostingParams]("InsertPostings")
	insertCheckouts        = named[db.InsertCheckoutParams]("InsertCheckouts")
	updateCheckouts        = named[db.UpdateCheckoutParams]("UpdateCheckouts")
	insertInstruments      = named[db.InsertInstrumentParams]("InsertInstruments")
	updateInstruments      = named[db.UpdateInstrumentParams]("UpdateInstruments")
	insertUnwindings       = named[db.InsertUnwindingParams]("InsertUnwindings")
	insertOutcomeConflicts = named[db.InsertOutcomeConflictParams]("InsertOutcomeConflicts")
	insertEvents           = named[db.InsertEventParams]("InsertEvents")
)

// placed is an event's position in its stream, as it was saved.
type placed struct {
	ID    string
	Place int64
}

// rollbackWithin bounds what giving up a transaction may take.
const rollbackWithin = 5 * time.Second

// once runs one transaction: a round trip that begins it and loads, and one that
// saves and commits. lost reports that the connection broke: whether it was
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
	before := maps.Clone(state.Mandates)
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
	queueSave(save, effects, before)
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
		Refunds: map[string]ledger.Refund{}, Tabs: map[string]ledger.Tab{},
	}
	if len(keys.Sessions) > 0 {
		into(b.Queue(lockSessions.text, keys.Sessions), row.Session, func(r ledger.Session) { s.Sessions[r.Hash] = r })
	}
	if len(keys.Mandates) > 0 {
		into(b.Queue(lockMandates.text, keys.Mandates), row.Mandate, func(r ledger.Mandate) { s.Mandates[r.ID] = r })
		b.Queue(windowsOf.text, keys.Mandates).Query(func(rows pgx.Rows) error { return addWindows(s.Mandates, rows) })
	}
	charge := func(r ledger.Charge) { s.Charges[r.ID] = r }
	if len(keys.Charges) > 0 {
		into(b.Queue(lockCharges.text, keys.Charges), row.Charge, charge)
	}
	if len(keys.Checkouts) > 0 {
		into(b.Queue(lockCheckouts.text, keys.Checkouts), row.Checkout, func(r ledger.Checkout) { s.Checkouts[r.Entropy] = r })
	}
	if len(keys.Instruments) > 0 {
		into(b.Queue(lockInstruments.text, keys.Instruments), row.Instrument, func(r ledger.Instrument) { s.Instruments[r.Reference] = r })
	}
	if len(keys.Refunds) > 0 {
		into(b.Queue(lockRefunds.text, keys.Refunds), row.Refund, func(r ledger.Refund) { s.Refunds[r.ID] = r })
	}
	if len(keys.Tabs) > 0 {
		a := arrays(lockTabs, keys.Tabs, func(k ledger.TallyKey) db.UnfinishedTabsParams {
			return db.UnfinishedTabsParams{MandateID: k.MandateID, MerchantID: k.MerchantID}
		})
		into(b.Queue(lockTabs.text, a...), row.Tab, func(r ledger.Tab) { s.Tabs[r.ID] = r })
	}
	if len(keys.Tallies) > 0 {
		a := arrays(lockTallies, keys.Tallies, func(k ledger.TallyKey) db.TallyParams {
			return db.TallyParams{MerchantID: k.MerchantID, MandateID: k.MandateID}
		})
		into(b.Queue(lockTallies.text, a...), row.Tally, func(r ledger.Tally) { s.Tallies[r.TallyKey] = r })
	}
	if len(keys.Idempotency) > 0 {
		a := arrays(idempotencies, keys.Idempotency, row.IdempotencyKey)
		into(b.Queue(idempotencies.text, a...), row.Idempotency, func(r ledger.Idempotency) { s.Idempotency[r.IdempotencyKey] = r })
		a = arrays(chargesOfKeys, keys.Idempotency, row.IdempotencyKey)
		into(b.Queue(chargesOfKeys.text, a...), row.Charge, charge) // after the keys: the charges that they name exist by now
	}
	return s
}

// addWindows adds the windows of mandates that were loaded before.
func addWindows(mandates map[string]ledger.Mandate, rows pgx.Rows) error {
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[db.Window])
	if err != nil {
		return err
	}
	of := map[string][]db.Window{}
	for _, w := range all {
		of[w.MandateID] = append(of[w.MandateID], w)
	}
	for id, windows := range of {
		m := mandates[id]
		m.Windows = row.Windows(windows)
		mandates[id] = m
	}
	return nil
}

// into has each row of a query's answer converted and kept.
func into[D, R any](q *pgx.QueuedQuery, convert func(D) (R, error), keep func(R)) {
	q.Query(func(rows pgx.Rows) error {
		stored, err := pgx.CollectRows(rows, pgx.RowToStructByName[D])
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

// same returns parameters as they are.
func same[P any](p P) P { return p }

// queueSave queues a statement for all rows of each kind. Updates come in key
// order too, though their rows are locked already. before are the mandates as they were
// loaded.
func queueSave(b *pgx.Batch, e ledger.Effects, before map[string]ledger.Mandate) {
	exec(b, insertSessions, e.Insert.Sessions, row.InsertSession)
	exec(b, updateSessions, e.Update.Sessions, row.UpdateSession)
	exec(b, insertMandates, e.Insert.Mandates, row.InsertMandate)
	exec(b, insertWindows, row.NewWindows(e.Insert.Mandates), same)
	exec(b, updateMandates, row.ChangedMandates(before, e.Update.Mandates), row.UpdateMandate)
	exec(b, updateEmail, row.ForgottenMandates(before, e.Update.Mandates), row.UpdateEmail)
	exec(b, updatePaused, row.PausedMandates(before, e.Update.Mandates), row.UpdatePaused)
	exec(b, updateCard, row.ChangedCards(before, e.Update.Mandates), row.UpdateCard)
	exec(b, updateLimits, row.LoweredMandates(before, e.Update.Mandates), row.UpdateLimits)
	exec(b, insertWindows, row.AddedWindows(before, e.Update.Mandates), same)
	exec(b, updateWindows, row.ChangedWindows(before, e.Update.Mandates), same)
	exec(b, insertIdempotencies, e.Insert.Idempotency, row.InsertIdempotency)
	exec(b, insertCharges, e.Insert.Charges, row.InsertCharge)
	exec(b, updateCharges, e.Update.Charges, row.UpdateCharge)
	exec(b, updateChargeSteps, row.InSteps(e.Update.Charges), row.UpdateChargeStep)
	exec(b, updateChargeRefunds, row.WithRefunds(e.Update.Charges), row.UpdateChargeRefunds)
	exec(b, updateWrittenOff, row.WrittenOff(e.Update.Charges), row.UpdateWrittenOff)
	exec(b, updateTabs, e.Update.Tabs, row.UpdateTab) // before those that take their place
	exec(b, insertTabs, e.Insert.Tabs, row.InsertTab)
	exec(b, insertRefunds, e.Insert.Refunds, row.InsertRefund)
	exec(b, updateRefunds, e.Update.Refunds, row.UpdateRefund)
	exec(b, insertTallies, e.Insert.Tallies, row.InsertTally)
	exec(b, updateTallies, e.Update.Tallies, row.UpdateTally)
	exec(b, insertPostings, e.Insert.Postings, row.InsertPosting)
	exec(b, insertCheckouts, e.Insert.Checkouts, row.InsertCheckout)
	exec(b, updateCheckouts, e.Update.Checkouts, row.UpdateCheckout)
	exec(b, insertInstruments, e.Insert.Instruments, row.InsertInstrument)
	exec(b, updateInstruments, e.Update.Instruments, row.UpdateInstrument)
	exec(b, insertUnwindings, e.Insert.Unwindings, row.InsertUnwinding)
	if len(e.Insert.Conflicts) > 0 { // those that exist already are no error
		b.Queue(insertOutcomeConflicts.text, arrays(insertOutcomeConflicts, e.Insert.Conflicts, row.InsertOutcomeConflict)...)
	}
	queueEvents(b, e.Insert.Events)
}

// queueEvents appends events to the streams of their merchants. The transaction locks each
// stream until it commits, so no reader sees a later event before an earlier one. The
// streams are locked last, in the order of merchants.
func queueEvents(b *pgx.Batch, events []ledger.Event) {
	if len(events) == 0 {
		return
	}
	row.NumberEvents(events)
	b.Queue(insertEvents.text, arrays(insertEvents, events, row.InsertEvent)...).Query(func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, pgx.RowToStructByName[placed])
		if err != nil {
			return err
		}
		if len(all) != len(events) {
			return fmt.Errorf("%w: %d of %d events saved", ledger.ErrInvariant, len(all), len(events))
		}
		for _, p := range all {
			i := slices.IndexFunc(events, func(e ledger.Event) bool { return e.ID == p.ID })
			events[i].StreamOffset = p.Place
		}
		return nil
	})
}

func exec[R, P any](b *pgx.Batch, s statement[P], rows []R, params func(R) P) {
	if len(rows) == 0 {
		return
	}
	b.Queue(s.text, arrays(s, rows, params)...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(len(rows)) {
			return fmt.Errorf("%w: %d of %d %T rows saved", ledger.ErrInvariant, tag.RowsAffected(), len(rows), rows)
		}
		return nil
	})
}
