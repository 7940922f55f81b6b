package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
)

type oldSession struct {
	hash, merchant, metadata, returnURL, mandate string
	amount, created, expires                     int64
}

func fillCheckouts(ctx context.Context, tx *sql.Tx) error {
	for last := ""; ; {
		page, err := readPage(ctx, tx, func(s *oldSession) []any {
			return []any{&s.hash, &s.merchant, &s.metadata, &s.returnURL, &s.mandate, &s.amount, &s.created, &s.expires}
		}, `SELECT hash, merchant_id, metadata, return_url, mandate_id, max_per_tx_micros, created_ms, expires_ms FROM sessions
			WHERE hash > $1 AND max_per_tx_micros = max_monthly_micros ORDER BY hash LIMIT $2`, last, fillPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, s := range page {
			if err := s.fill(ctx, tx); err != nil {
				return err
			}
		}
		last = page[len(page)-1].hash
	}
}

// fill inserts the checkout of a session, if the session is of one. A merchant's own
// metadata may name any checkout, also another merchant's. Such a row is never found,
// because its id does not lead to the session, and it takes no checkout's place: a
// checkout's id has the time of its session, and no caller can name it before it exists.
func (s oldSession) fill(ctx context.Context, tx *sql.Tx) error {
	var metadata map[string]string
	if err := json.Unmarshal([]byte(s.metadata), &metadata); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	checkoutID := metadata["checkout"]
	if !id.Valid(id.Checkout, checkoutID) || !strings.HasPrefix(checkoutID, id.First(id.Checkout, time.UnixMilli(s.created))[:checkoutTime]) {
		return nil
	}
	charge, failure, err := s.paid(ctx, tx, checkoutID)
	if err != nil {
		return fmt.Errorf("charge of checkout %s: %w", checkoutID, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO checkouts (entropy, id, merchant_id, amount_micros, description, return_url, session_hash,
		charge_id, failure_reason, created_ms, expires_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (entropy) DO UPDATE SET id = excluded.id, merchant_id = excluded.merchant_id, amount_micros = excluded.amount_micros,
		description = excluded.description, return_url = excluded.return_url, session_hash = excluded.session_hash,
		charge_id = excluded.charge_id, failure_reason = excluded.failure_reason, created_ms = excluded.created_ms,
		expires_ms = excluded.expires_ms WHERE excluded.created_ms < checkouts.created_ms`,
		checkoutID[checkoutTime:], checkoutID, s.merchant, s.amount, metadata["description"], s.returnURL, s.hash,
		charge, failure, s.created, s.expires)
	return err
}

// checkoutTime is the length of a checkout's id up to the end of its time.
const checkoutTime = len(id.Checkout) + 10

// paid returns the charge of a checkout, or why it was refused. Keys are forgotten
// after a while; then it is the charge of the mandate that was made for the checkout.
// The charge must be of the checkout's amount: an earlier version took any.
func (s oldSession) paid(ctx context.Context, tx *sql.Tx, checkoutID string) (charge, failure string, err error) {
	var refusal string
	err = tx.QueryRowContext(ctx, `SELECT i.charge_id, i.refusal FROM idempotency i LEFT JOIN charges c ON c.id = i.charge_id
		WHERE i.merchant_id = $1 AND i.kind = 'checkout' AND i.key = $2 AND (i.charge_id = '' OR c.amount_micros = $3)`,
		s.merchant, checkoutID, s.amount).Scan(&charge, &refusal)
	if errors.Is(err, sql.ErrNoRows) && s.mandate != "" {
		err = tx.QueryRowContext(ctx, `SELECT id FROM charges WHERE mandate_id = $1 AND merchant_id = $2 AND amount_micros = $3
			ORDER BY CASE status WHEN 'succeeded' THEN 0 WHEN 'pending' THEN 1 ELSE 2 END, id LIMIT 1`,
			s.mandate, s.merchant, s.amount).Scan(&charge)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", "", err
	}
	var reason struct {
		Code string `json:"code"`
	}
	if refusal != "" {
		if err := json.Unmarshal([]byte(refusal), &reason); err != nil {
			return "", "", fmt.Errorf("refusal: %w", err)
		}
	}
	return charge, reason.Code, nil
}
