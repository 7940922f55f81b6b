package paywall

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// claimStatement claims a row that is new, expired, or neither held nor served, and returns
// how the earlier claim ended. The row is kept for HonoredFor from now: if this instance
// ends during the settlement, the row is the only record of it.
const claimStatement = `INSERT INTO paywall_redemptions (id, binding, state, owner, lease_until, forget_after, payment, slot, repeat_key)
VALUES ($1, $2, 1, $3, $4, $5, '', $7, $8)
ON CONFLICT (id) DO UPDATE SET
	state = CASE WHEN paywall_redemptions.forget_after < $6 THEN 1 WHEN paywall_redemptions.state = 1 THEN 2 ELSE paywall_redemptions.state END,
	payment = CASE WHEN paywall_redemptions.forget_after < $6 THEN '' ELSE paywall_redemptions.payment END,
	slot = CASE WHEN paywall_redemptions.forget_after < $6 THEN excluded.slot ELSE paywall_redemptions.slot END,
	repeat_key = CASE WHEN paywall_redemptions.forget_after < $6 THEN excluded.repeat_key ELSE paywall_redemptions.repeat_key END,
	resumes = CASE WHEN paywall_redemptions.forget_after < $6 THEN 1 ELSE paywall_redemptions.resumes END,
	forget_after = CASE WHEN paywall_redemptions.forget_after < excluded.forget_after THEN excluded.forget_after ELSE paywall_redemptions.forget_after END,
	binding = excluded.binding, owner = excluded.owner, lease_until = excluded.lease_until
WHERE (paywall_redemptions.owner = '' OR paywall_redemptions.lease_until < $6)
	AND (paywall_redemptions.forget_after < $6 OR (paywall_redemptions.binding = excluded.binding AND paywall_redemptions.state <> 4))
RETURNING state, payment`

// maxClaimTries is the number of attempts to claim a row that changes concurrently.
const maxClaimTries = 3

// Peek implements [Redemptions]. It returns errors of the database.
func (s *SQL) Peek(ctx context.Context, c Claim) (Claimed, error) {
	id := hashText(c.Key)
	if s.row(id).owner != "" {
		return Claimed{State: ClaimBusy}, nil
	}
	got, err := s.look(ctx, id, hashText(c.Binding), s.clock())
	if err != nil {
		return Claimed{}, fmt.Errorf("paywall: read redemption: %w", err)
	}
	return got, nil
}

// Claim implements [Redemptions]. It returns errors of the database.
func (s *SQL) Claim(ctx context.Context, c Claim) (Claimed, error) {
	id, binding, owner := hashText(c.Key), hashText(c.Binding), randomText()
	if !s.hold(id, heldRow{owner, c.Until}) {
		return Claimed{State: ClaimBusy}, nil
	}
	got, err := s.claim(ctx, c, id, binding, owner)
	if err != nil {
		err = fmt.Errorf("paywall: claim redemption: %w", err)
	}
	if err != nil || got.State > ClaimPaid {
		s.release(id)
		return got, err
	}
	s.sweep(ctx)
	return got, nil
}

func (s *SQL) claim(ctx context.Context, c Claim, id, binding, owner string) (Claimed, error) {
	for range maxClaimTries {
		now := s.clock()
		keep := max(c.Until.UnixMilli(), now.Add(HonoredFor).UnixMilli())
		var state int
		var payment string
		slot := ""
		if c.Slot != "" {
			slot = hashText(c.Slot)
		}
		err := s.db.QueryRowContext(ctx, claimStatement, id, binding, owner, now.Add(s.lease).UnixMilli(), keep, now.UnixMilli(), slot, c.Repeat).
			Scan(&state, &payment)
		switch {
		case err == nil:
			return granted(state, payment)
		case !errors.Is(err, sql.ErrNoRows):
			return Claimed{}, err
		}
		if got, err := s.look(ctx, id, binding, now); err != nil || got.State > ClaimPaid {
			return got, err
		}
	}
	return Claimed{State: ClaimBusy}, nil
}

// granted returns the result of a granted claim.
func granted(state int, payment string) (Claimed, error) {
	switch state {
	case rowNew:
		return Claimed{State: ClaimFresh}, nil
	case rowTried:
		return Claimed{State: ClaimUndecided}, nil
	}
	var p Payment
	if err := json.Unmarshal([]byte(payment), &p); err != nil {
		return Claimed{}, fmt.Errorf("read payment: %w", err)
	}
	return Claimed{State: ClaimPaid, Payment: p}, nil
}

// Unfinished implements [Redemptions]. It returns errors of the database.
func (s *SQL) Unfinished(ctx context.Context, slot string) (repeat string, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT repeat_key FROM paywall_redemptions
WHERE slot = $1 AND slot <> '' AND state < 4 AND resumes = 1 AND (owner = '' OR lease_until < $2) AND forget_after >= $2
ORDER BY forget_after, id LIMIT 1`, hashText(slot), s.clock().UnixMilli()).Scan(&repeat)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("paywall: read unfinished redemption: %w", err)
	}
	return repeat, nil
}

// look returns what a claim of the row would return now.
func (s *SQL) look(ctx context.Context, id, binding string, now time.Time) (Claimed, error) {
	var state int
	var bound, owner, payment string
	var lease, forget int64
	err := s.db.QueryRowContext(ctx, "SELECT state, binding, owner, lease_until, forget_after, payment FROM paywall_redemptions WHERE id = $1", id).
		Scan(&state, &bound, &owner, &lease, &forget, &payment)
	ms := now.UnixMilli()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Claimed{State: ClaimFresh}, nil
	case err != nil:
		return Claimed{}, err
	case owner != "" && lease >= ms:
		return Claimed{State: ClaimBusy}, nil
	case forget < ms:
		return Claimed{State: ClaimFresh}, nil
	case bound != binding:
		return Claimed{State: ClaimBoundElsewhere}, nil
	case state == rowServed:
		return Claimed{State: ClaimServed}, nil
	case state == rowNew: // its instance ended, and may have settled
		state = rowTried
	}
	return granted(state, payment)
}

// hold reserves a row for one request of this instance, whatever its lease.
func (s *SQL) hold(id string, row heldRow) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.held[id]; held {
		return false
	}
	s.held[id] = row
	return true
}

func (s *SQL) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
}

// sweepSQLEvery is how often some of the expired rows are deleted.
const sweepSQLEvery = time.Minute

// sweep deletes some expired rows if the last sweep was long enough ago.
func (s *SQL) sweep(ctx context.Context) {
	now := s.clock()
	s.mu.Lock()
	due := now.Sub(s.swept) >= sweepSQLEvery
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	// The next sweep deletes what remains after an error.
	_, _ = s.db.ExecContext(ctx, `DELETE FROM paywall_redemptions WHERE id IN
	(SELECT id FROM paywall_redemptions WHERE forget_after < $1 AND (owner = '' OR lease_until < $1) LIMIT 1000)`, now.UnixMilli())
}

func randomText() string {
	var made [16]byte
	_, _ = rand.Read(made[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(made[:])
}
