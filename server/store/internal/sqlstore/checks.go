package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Statements for many rows, like those for webhooks.
const (
	countersOf = `SELECT id, status, limits, event_seq FROM mandates
WHERE id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY id`

	windowsOf = `SELECT mandate_id, kind, cap, start_day, used FROM windows
WHERE mandate_id IN (SELECT value ->> 0 FROM json_each($1))`

	checksOf = `SELECT mandate_id, seq, settled, revoked, fault, checked_ms FROM mandate_checks
WHERE mandate_id IN (SELECT value ->> 0 FROM json_each($1))`

	heldOf = `SELECT mandate_id, day, CAST(SUM(amount_micros) AS BIGINT), COUNT(*) FROM charges
WHERE status IN ('pending', 'authorized') AND mandate_id IN (SELECT value ->> 0 FROM json_each($1)) GROUP BY mandate_id, day`

	eventsSince = `SELECT e.id, e.mandate_id, e.seq, e.merchant_id, e.type, e.data, e.created_ms, e.place
FROM json_each($1) JOIN events e ON e.mandate_id = value ->> 0 AND e.seq > CAST(value ->> 1 AS BIGINT)
ORDER BY e.mandate_id, e.seq LIMIT CAST($2 AS BIGINT)`

	chargesOf = `SELECT id, mandate_id, merchant_id, amount_micros, fee_micros, day, status, rail, step, refunded_micros, refunding_micros, refunds,
    tab_id, written_off, source FROM charges
WHERE id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY id`

	postingsOf = `SELECT charge_id, n, mandate_id, from_account, to_account, amount_micros, at_ms FROM postings
WHERE charge_id IN (SELECT value ->> 0 FROM json_each($1)) ORDER BY charge_id, n`

	saveMandateChecks = `INSERT INTO mandate_checks (mandate_id, seq, settled, revoked, fault, checked_ms)
SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), value ->> 2, CAST(value ->> 3 AS BIGINT), value ->> 4, CAST(value ->> 5 AS BIGINT)
FROM json_each($1) WHERE true
ON CONFLICT (mandate_id) DO UPDATE SET seq = excluded.seq, settled = excluded.settled,
    revoked = excluded.revoked, fault = excluded.fault, checked_ms = excluded.checked_ms`

	saveStreamChecks = `INSERT INTO stream_checks (merchant_id, stream_offset)
SELECT value ->> 0, CAST(value ->> 1 AS BIGINT) FROM json_each($1) WHERE true
ON CONFLICT (merchant_id) DO UPDATE SET stream_offset = excluded.stream_offset`
)

// listed runs a bulk statement of a snapshot for some ids.
func listed[R any](ctx context.Context, a *audit, statement string, keys [][]any, scan func(*sql.Rows, *R) error, args ...any) ([]R, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	text, err := encoded(keys)
	if err != nil {
		return nil, a.store.fail("read", err)
	}
	found, err := rows(ctx, a.tx, scan, a.store.unfold(statement), append([]any{text}, args...)...)
	return found, a.store.fail("read", err)
}

// CountersOf implements [ledger.Audit].
func (a *audit) CountersOf(ctx context.Context, ids []string) ([]ledger.Counter, error) {
	counters, err := listed(ctx, a, countersOf, single(ids), func(r *sql.Rows, m *ledger.Counter) error {
		var limits string
		err := r.Scan(&m.MandateID, &m.Status, &limits, &m.EventSeq)
		if err == nil {
			m.Payees, err = row.HasPayeeLimit(limits)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	windows, err := listed(ctx, a, windowsOf, single(ids), func(r *sql.Rows, w *db.Window) error {
		return r.Scan(&w.MandateID, &w.Kind, &w.Cap, &w.StartDay, &w.Used)
	})
	byMandate := grouped(windows)
	for i, m := range counters {
		counters[i].Windows = row.Windows(byMandate[m.MandateID])
	}
	return counters, err
}

// grouped returns windows by their mandate.
func grouped(all []db.Window) map[string][]db.Window {
	groups := map[string][]db.Window{}
	for _, w := range all {
		groups[w.MandateID] = append(groups[w.MandateID], w)
	}
	return groups
}

// ChecksOf implements [ledger.Audit].
func (a *audit) ChecksOf(ctx context.Context, ids []string) ([]ledger.MandateCheck, error) {
	return listed(ctx, a, checksOf, single(ids), func(r *sql.Rows, k *ledger.MandateCheck) error {
		var (
			at, revoked int64
			settled     string
		)
		if err := r.Scan(&k.MandateID, &k.Seq, &settled, &revoked, &k.Fault, &at); err != nil {
			return err
		}
		k.Revoked, k.CheckedAt = revoked == 1, row.At(at)
		return json.Unmarshal([]byte(settled), &k.Settled)
	})
}

// HeldOf implements [ledger.Audit].
func (a *audit) HeldOf(ctx context.Context, ids []string) ([]ledger.HeldCharges, error) {
	return listed(ctx, a, heldOf, single(ids), func(r *sql.Rows, h *ledger.HeldCharges) error {
		return r.Scan(&h.MandateID, &h.Day, &h.Amount, &h.Count)
	})
}

// EventsSince implements [ledger.Audit].
func (a *audit) EventsSince(ctx context.Context, since map[string]int64, limit int) ([]ledger.Event, error) {
	keys := make([][]any, 0, len(since))
	for id, seq := range since {
		keys = append(keys, []any{id, seq})
	}
	return listed(ctx, a, eventsSince, keys, func(r *sql.Rows, e *ledger.Event) error {
		var at int64
		err := r.Scan(&e.ID, &e.MandateID, &e.Seq, &e.MerchantID, &e.Type, &e.Data, &at, &e.StreamOffset)
		e.CreatedAt = row.At(at)
		return err
	}, limit)
}

// ChargesOf implements [ledger.Audit].
func (a *audit) ChargesOf(ctx context.Context, ids []string, each func(ledger.Charge, []ledger.Posting) error) error {
	charges, err := listed(ctx, a, chargesOf, single(ids), func(r *sql.Rows, c *ledger.Charge) error {
		var writtenOff int64
		err := r.Scan(&c.ID, &c.MandateID, &c.MerchantID, &c.Amount, &c.Fee, &c.Day, &c.Status, &c.Rail, &c.Step,
			&c.Refunded, &c.Refunding, &c.Refunds, &c.TabID, &writtenOff, &c.Source)
		c.Status = row.ChargeStatus(string(c.Status), writtenOff)
		return err
	})
	if err != nil {
		return err
	}
	postings, err := a.postingsOf(ctx, ids)
	if err != nil {
		return err
	}
	return merge(charges, postings, each)
}

// postingsOf returns the postings of charges in order.
func (a *audit) postingsOf(ctx context.Context, ids []string) ([]ledger.Posting, error) {
	return listed(ctx, a, postingsOf, single(ids), func(r *sql.Rows, p *ledger.Posting) error {
		var at int64
		err := r.Scan(&p.ChargeID, &p.N, &p.MandateID, &p.From, &p.To, &p.Amount, &at)
		p.At = row.At(at)
		return err
	})
}

// TakeWork implements [ledger.Checks].
func (s *Store) TakeWork(ctx context.Context, name, owner string, now, until time.Time) (cursor string, taken bool, err error) {
	cursors, err := change(ctx, s, "take work", s.writeQ.TakeWork, db.TakeWorkParams{Name: name, Owner: owner, UntilMs: row.Millis(until), NowMs: row.Millis(now)})
	if err != nil || len(cursors) == 0 {
		return "", false, err
	}
	return cursors[0], true, nil
}

// LeaveWork implements [ledger.Checks].
func (s *Store) LeaveWork(ctx context.Context, name, owner, cursor string) error {
	return put(ctx, s, "leave work", s.writeQ.LeaveWork, db.LeaveWorkParams{Name: name, Owner: owner, Cursor: cursor})
}

// UncheckedStreams implements [ledger.Checks].
func (s *Store) UncheckedStreams(ctx context.Context, after string, limit int) ([]ledger.StreamCheck, error) {
	return many(s, func(r db.UncheckedStreamsRow) (ledger.StreamCheck, error) {
		return ledger.StreamCheck{MerchantID: r.MerchantID, Offset: r.StreamOffset, End: r.StreamEnd}, nil
	})(s.readQ.UncheckedStreams(ctx, db.UncheckedStreamsParams{After: after, Most: int64(limit)}))
}

// StreamMandates implements [ledger.Checks].
func (s *Store) StreamMandates(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error) {
	return many(s, func(r db.StreamMandatesRow) (ledger.Event, error) {
		return ledger.Event{MerchantID: merchantID, MandateID: r.MandateID, StreamOffset: r.Place}, nil
	})(s.readQ.StreamMandates(ctx, db.StreamMandatesParams{MerchantID: merchantID, After: after, Most: int64(limit)}))
}

// MandatesAfter implements [ledger.Checks].
func (s *Store) MandatesAfter(ctx context.Context, id string, limit int) ([]string, error) {
	ids, err := s.readQ.MandatesAfter(ctx, db.MandatesAfterParams{After: id, Most: int64(limit)})
	return ids, s.fail("list mandates", err)
}

// FaultyMandates implements [ledger.Checks].
func (s *Store) FaultyMandates(ctx context.Context, limit int) ([]string, error) {
	ids, err := s.readQ.FaultyMandates(ctx, int64(limit))
	return ids, s.fail("list faulty mandates", err)
}

// SaveChecks implements [ledger.Checks]. After a power cut some is checked again.
func (s *Store) SaveChecks(ctx context.Context, mandates []ledger.MandateCheck, streams []ledger.StreamCheck) error {
	checked, reached := make([][]any, len(mandates)), make([][]any, len(streams))
	for i, k := range mandates {
		revoked := 0
		if k.Revoked {
			revoked = 1
		}
		checked[i] = []any{k.MandateID, k.Seq, string(httpjson.Marshal(k.Settled)), revoked, k.Fault, row.Millis(k.CheckedAt)}
	}
	for i, c := range streams {
		reached[i] = []any{c.MerchantID, c.Offset}
	}
	save := func(ctx context.Context, on execer) error {
		return errors.Join(s.bulk(ctx, on, saveMandateChecks, checked), s.bulk(ctx, on, saveStreamChecks, reached))
	}
	if s.writer != nil {
		return s.fail("save checks", s.lazily(ctx, func(ctx context.Context) error { return save(ctx, s.writer) }))
	}
	return s.fail("save checks", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return save(ctx, tx) }))
}

// Backlog implements [ledger.Checks].
func (s *Store) Backlog(ctx context.Context) (pending int, oldest time.Time, err error) {
	r, err := s.readQ.Backlog(ctx)
	return int(r.Pending), row.At(r.OldestMs), s.fail("count pending charges", err)
}

// Now implements [ledger.Checks].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if s.engine.Now == "" {
		return time.Now(), nil
	}
	var ms int64
	err := s.read.QueryRowContext(ctx, s.engine.Now).Scan(&ms)
	return row.At(ms), s.fail("read the database's clock", err)
}
