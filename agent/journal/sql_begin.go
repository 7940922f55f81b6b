package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/agent"
)

// Begin implements [agent.Journal]. It returns errors of the database.
func (s *SQL) Begin(ctx context.Context, e agent.JournalEntry, limits agent.SpendingLimits) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal: begin a purchase: %w", err)
	}
	return s.spend(ctx, "begin a purchase", func(tx *sql.Tx, total int64) (int64, error) {
		now := s.clock()
		gone, err := s.sweep(ctx, tx, now)
		if err != nil {
			return 0, err
		}
		err = limits.Check(e.At, e.AmountMicros, total-gone, func(after time.Time) (count int, sum int64, err error) {
			err = tx.QueryRowContext(ctx, `SELECT count(*), CAST(COALESCE(sum(amount_micros), 0) AS BIGINT) FROM agent_purchases
WHERE agent = $1 AND begun_at > $2`, s.agent, after.UnixMilli()).Scan(&count, &sum)
			return count, sum, err
		})
		if err != nil {
			return 0, err
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO agent_purchases
	(id, agent, purchase_key, request, state, amount_micros, begun_at, good_until, forget_after, instance, owner, lease_until, entry)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
			e.ID, s.agent, nullable(e.Key), e.Request, string(e.State), e.AmountMicros, e.At.UnixMilli(), e.Until.UnixMilli(), e.ForgetAfter.UnixMilli(),
			s.instance, s.owner, now.Add(s.lease).UnixMilli(), string(text))
		if err != nil {
			return 0, err
		}
		if err := one(done); errors.Is(err, errNotHeld) {
			return 0, agent.ErrPurchaseBusy
		} else if err != nil {
			return 0, err
		}
		return e.AmountMicros - gone, nil
	})
}

// Forget implements [agent.Journal]. It returns errors of the database.
func (s *SQL) Forget(ctx context.Context, id string) error {
	return s.spend(ctx, "forget "+id, func(tx *sql.Tx, _ int64) (int64, error) {
		var amount int64
		err := tx.QueryRowContext(ctx, "DELETE FROM agent_purchases WHERE id = $1 AND owner = $2 RETURNING amount_micros", id, s.owner).Scan(&amount)
		if errors.Is(err, sql.ErrNoRows) {
			err = errNotHeld
		}
		return -amount, err
	})
}

// spend changes what the agent has spent in a transaction that holds the lock of the
// agent's row in agent_spending. Do receives the total and returns the change.
func (s *SQL) spend(ctx context.Context, doing string, do func(tx *sql.Tx, total int64) (int64, error)) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("journal: %s: %w", doing, err)
	}
	defer func() { _ = tx.Rollback() }()
	var total, change int64
	err = tx.QueryRowContext(ctx, `INSERT INTO agent_spending (agent, total_micros) VALUES ($1, 0)
ON CONFLICT (agent) DO UPDATE SET total_micros = agent_spending.total_micros RETURNING total_micros`, s.agent).Scan(&total)
	if err == nil {
		change, err = do(tx, total)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE agent_spending SET total_micros = total_micros + $1 WHERE agent = $2", change, s.agent)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("journal: %s: %w", doing, err)
	}
	return nil
}

// sweep deletes the purchases that may be forgotten and those that were begun by processes
// that ended. It returns the amounts of those that were not sent.
func (s *SQL) sweep(ctx context.Context, tx *sql.Tx, now time.Time) (gone int64, err error) {
	args := []any{s.owner, s.instance, now.UnixMilli(), s.agent}
	if _, err := tx.ExecContext(ctx, `DELETE FROM agent_purchases WHERE `+freeSQL+` AND agent = $4 AND state NOT IN ('begun', 'funding') AND forget_after < $3`, args...); err != nil {
		return 0, err
	}
	rows, err := tx.QueryContext(ctx, `DELETE FROM agent_purchases WHERE `+freeSQL+` AND agent = $4
	AND (state = 'begun' OR (state = 'funding' AND forget_after < $3)) RETURNING amount_micros`, args...)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var amount int64
		if err := rows.Scan(&amount); err != nil {
			return 0, err
		}
		gone += amount
	}
	return gone, rows.Err()
}
