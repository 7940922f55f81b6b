package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Update implements [ledger.Store] on the single writer.
func (s *Store) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	giveBack, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("wait for other commits: %w", err)
	}
	defer giveBack()
	var effects ledger.Effects
	committed := false
	defer func() { s.kept.end(effects, committed) }() // also after a panic
	// Once the transaction has begun it is not interrupted: it waits for nothing but the disk.
	err = s.transact(s.toTheEnd(ctx), func(ctx context.Context) error {
		if err := s.kept.begin(ctx); err != nil {
			return s.fail("load", err)
		}
		state, err := s.load(ctx, keys)
		if err != nil {
			return s.fail("load", err)
		}
		failpoint.Hit(failpoint.StoreLoaded)
		before := maps.Clone(state.Mandates)
		if effects, err = decide(state); err != nil {
			return err
		}
		failpoint.Hit(failpoint.StoreDecided)
		return s.fail("save", save(ctx, s.writeQ, effects, before))
	})
	if committed = err == nil; committed {
		failpoint.Hit(failpoint.StoreCommitted)
	}
	return err
}

// lazily runs a transaction with what a power cut may undo: it does not wait for the disk. A
// writer that does not say that it waits again is closed, so that nothing is
// acknowledged that is not there.
func (s *Store) lazily(ctx context.Context, do func(context.Context) error) error {
	giveBack, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("wait for other commits: %w", err)
	}
	defer giveBack()
	ctx = s.toTheEnd(ctx)
	if _, err := s.writer.ExecContext(ctx, s.engine.Lazy); err != nil {
		return s.fail("begin", err)
	}
	err = s.transact(ctx, do)
	if _, failure := s.writer.ExecContext(ctx, s.engine.Durable); failure != nil {
		err = errors.Join(err, s.fail("wait for the disk again", failure), s.writer.Close())
	}
	return err
}

func (s *Store) transact(ctx context.Context, do func(context.Context) error) (err error) {
	if _, err := s.begin.ExecContext(ctx); err != nil {
		return s.fail("begin", err)
	}
	committed := false
	defer func() { // also after a panic; it may have been rolled back already, which is no error
		if !committed {
			_, _ = s.writer.ExecContext(ctx, "ROLLBACK")
		}
	}()
	if err = do(ctx); err == nil {
		_, err = s.commit.ExecContext(ctx)
		err = s.fail("commit", err)
	}
	committed = err == nil
	return err
}

// toTheEnd is the context of statements on the one connection that writes, which are
// short, and are not interrupted.
func (s *Store) toTheEnd(ctx context.Context) context.Context {
	if s.writer == nil {
		return ctx
	}
	return withoutEnd{ctx}
}

// withoutEnd is a context with its values but no end: a statement with an end to
// watch costs a goroutine.
type withoutEnd struct{ context.Context } //nolint:containedctx // it is one

func (withoutEnd) Done() <-chan struct{}       { return nil }
func (withoutEnd) Err() error                  { return nil }
func (withoutEnd) Deadline() (time.Time, bool) { return time.Time{}, false }

// load reads the rows that keys name, and the charges that idempotency rows name.
func (s *Store) load(ctx context.Context, keys ledger.Keys) (*ledger.State, error) {
	q := s.writeQ
	st := &ledger.State{
		Sessions: map[string]ledger.Session{}, Mandates: map[string]ledger.Mandate{},
		Charges: map[string]ledger.Charge{}, Tallies: map[ledger.TallyKey]ledger.Tally{},
		Idempotency: map[ledger.IdempotencyKey]ledger.Idempotency{},
		Checkouts:   map[string]ledger.Checkout{}, Instruments: map[string]ledger.Instrument{},
		Refunds: map[string]ledger.Refund{}, Tabs: map[string]ledger.Tab{},
	}
	var all error
	for _, k := range keys.Sessions {
		all = errors.Join(all, into(st.Sessions, k, row.Session)(q.Session(ctx, k)))
	}
	for _, k := range found(s.kept.mandates, keys.Mandates, st.Mandates) {
		all = errors.Join(all, into(st.Mandates, k, row.Mandate)(q.Mandate(ctx, k)))
		if m, exists := st.Mandates[k]; exists {
			windows, err := q.Windows(ctx, k)
			m.Windows = row.Windows(windows)
			st.Mandates[k], all = m, errors.Join(all, err)
		}
	}
	for _, k := range keys.Checkouts {
		all = errors.Join(all, into(st.Checkouts, k, row.Checkout)(q.Checkout(ctx, k)))
	}
	for _, k := range keys.Refunds {
		all = errors.Join(all, into(st.Refunds, k, row.Refund)(q.Refund(ctx, k)))
	}
	for _, k := range keys.Tabs {
		tabs, err := many(s, row.Tab)(q.UnfinishedTabs(ctx, db.UnfinishedTabsParams{MandateID: k.MandateID, MerchantID: k.MerchantID}))
		all = errors.Join(all, err)
		for _, t := range tabs {
			st.Tabs[t.ID] = t
		}
	}
	for _, k := range keys.Instruments {
		all = errors.Join(all, into(st.Instruments, k, row.Instrument)(q.Instrument(ctx, k)))
	}
	for _, k := range found(s.kept.tallies, keys.Tallies, st.Tallies) {
		p := db.TallyParams{MerchantID: k.MerchantID, MandateID: k.MandateID}
		all = errors.Join(all, into(st.Tallies, k, row.Tally)(q.Tally(ctx, p)))
	}
	charges := slices.Clone(keys.Charges)
	for _, k := range keys.Idempotency {
		all = errors.Join(all, into(st.Idempotency, k, row.Idempotency)(q.Idempotency(ctx, row.IdempotencyKey(k))))
		if id := st.Idempotency[k].ChargeID; id != "" {
			charges = append(charges, id)
		}
	}
	for _, k := range found(s.kept.charges, charges, st.Charges) {
		all = errors.Join(all, into(st.Charges, k, row.Charge)(q.Charge(ctx, k)))
	}
	return st, all
}

// into puts the answer of a query into rows; a row that does not exist is no error.
func into[K comparable, D, R any](rows map[K]R, key K, convert func(D) (R, error)) func(D, error) error {
	return func(stored D, err error) error {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		row, err := convert(stored)
		if err == nil {
			rows[key] = row
		}
		return err
	}
}

// save writes what a decision changed; before are the mandates as they were loaded.
func save(ctx context.Context, q *db.Queries, e ledger.Effects, before map[string]ledger.Mandate) error {
	return first(
		insert(ctx, e.Insert.Sessions, row.InsertSession, q.InsertSession),
		update(ctx, e.Update.Sessions, row.UpdateSession, q.UpdateSession),
		insert(ctx, e.Insert.Mandates, row.InsertMandate, q.InsertMandate),
		insert(ctx, row.NewWindows(e.Insert.Mandates), same, q.InsertWindow),
		updateMandates(ctx, q, row.ChangedMandates(before, e.Update.Mandates), before),
		update(ctx, row.ForgottenMandates(before, e.Update.Mandates), row.UpdateEmail, q.UpdateEmail),
		update(ctx, row.PausedMandates(before, e.Update.Mandates), row.UpdatePaused, q.UpdatePaused),
		update(ctx, row.ChangedCards(before, e.Update.Mandates), row.UpdateCard, q.UpdateCard),
		update(ctx, row.LoweredMandates(before, e.Update.Mandates), row.UpdateLimits, q.UpdateLimits),
		insert(ctx, row.AddedWindows(before, e.Update.Mandates), same, q.InsertWindow),
		update(ctx, row.ChangedWindows(before, e.Update.Mandates), same, q.UpdateWindow),
		insert(ctx, e.Insert.Idempotency, row.InsertIdempotency, q.InsertIdempotency),
		insert(ctx, e.Insert.Charges, row.InsertCharge, q.InsertCharge),
		update(ctx, e.Update.Charges, row.UpdateCharge, q.UpdateCharge),
		update(ctx, row.InSteps(e.Update.Charges), row.UpdateChargeStep, q.UpdateChargeStep),
		update(ctx, row.WithRefunds(e.Update.Charges), row.UpdateChargeRefunds, q.UpdateChargeRefunds),
		update(ctx, row.WrittenOff(e.Update.Charges), row.UpdateWrittenOff, q.UpdateWrittenOff),
		update(ctx, e.Update.Tabs, row.UpdateTab, q.UpdateTab), // before those that take their place
		insert(ctx, e.Insert.Tabs, row.InsertTab, q.InsertTab),
		insert(ctx, e.Insert.Refunds, row.InsertRefund, q.InsertRefund),
		update(ctx, e.Update.Refunds, row.UpdateRefund, q.UpdateRefund),
		insert(ctx, e.Insert.Tallies, row.InsertTally, q.InsertTally),
		update(ctx, e.Update.Tallies, row.UpdateTally, q.UpdateTally),
		insert(ctx, e.Insert.Postings, row.InsertPosting, q.InsertPosting),
		insert(ctx, e.Insert.Checkouts, row.InsertCheckout, q.InsertCheckout),
		update(ctx, e.Update.Checkouts, row.UpdateCheckout, q.UpdateCheckout),
		insert(ctx, e.Insert.Instruments, row.InsertInstrument, q.InsertInstrument),
		update(ctx, e.Update.Instruments, row.UpdateInstrument, q.UpdateInstrument),
		insert(ctx, e.Insert.Unwindings, row.InsertUnwinding, q.InsertUnwinding),
		insert(ctx, e.Insert.Conflicts, row.InsertOutcomeConflict, q.InsertOutcomeConflict),
		insertEvents(ctx, q, e.Insert.Events),
	)
}

// same returns parameters as they are.
func same[P any](p P) P { return p }

// updateMandates writes only the number of events of mandates that were active and still are.
func updateMandates(ctx context.Context, q *db.Queries, mandates []ledger.Mandate, before map[string]ledger.Mandate) func() error {
	return func() error {
		for i, m := range mandates {
			one := update(ctx, mandates[i:i+1], row.UpdateMandate, q.UpdateMandate)
			if m.Status == ledger.MandateActive && before[m.ID].Status == ledger.MandateActive {
				one = update(ctx, mandates[i:i+1], row.UpdateEventSeq, q.UpdateEventSeq)
			}
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
}

// insertEvents gives events their places, at the ends of their merchants' streams.
func insertEvents(ctx context.Context, q *db.Queries, events []ledger.Event) func() error {
	return func() error {
		before := map[string]int64{}
		for merchant, n := range row.NumberEvents(events) {
			last, err := q.TakePlaces(ctx, db.TakePlacesParams{MerchantID: merchant, Place: n})
			if err != nil {
				return fmt.Errorf("take places: %w", err)
			}
			before[merchant] = last - n
		}
		for i := range events {
			events[i].StreamOffset += before[events[i].MerchantID]
		}
		return insert(ctx, events, row.InsertEvent, q.InsertEvent)()
	}
}

// first runs the steps up to the first error.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func insert[R, P any](ctx context.Context, rows []R, params func(R) P, exec func(context.Context, P) error) func() error {
	return func() error {
		for _, r := range rows {
			if err := exec(ctx, params(r)); err != nil {
				return fmt.Errorf("insert %T: %w", r, err)
			}
		}
		return nil
	}
}

func update[R, P any](ctx context.Context, rows []R, params func(R) P, exec func(context.Context, P) (int64, error)) func() error {
	return func() error {
		for _, r := range rows {
			n, err := exec(ctx, params(r))
			if err != nil {
				return fmt.Errorf("update %T: %w", r, err)
			}
			if n != 1 {
				return fmt.Errorf("update %T: %w: %d rows changed", r, ledger.ErrInvariant, n)
			}
		}
		return nil
	}
}
