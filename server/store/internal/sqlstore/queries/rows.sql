-- name: Session :one
SELECT * FROM sessions WHERE hash = $1;

-- name: InsertSession :exec
INSERT INTO sessions (hash, merchant_id, status, failure_reason, max_per_tx_micros, max_monthly_micros, rails, payees,
    mandate_expires_ms, return_url, metadata, attempts, mandate_id, sealed_token, created_ms, expires_ms, limits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);

-- name: UpdateSession :execrows
UPDATE sessions SET status = $2, failure_reason = $3, attempts = $4, mandate_id = $5, sealed_token = $6
WHERE hash = $1;

-- name: Mandate :one
SELECT * FROM mandates WHERE id = $1;

-- name: InsertMandate :exec
INSERT INTO mandates (id, merchant_id, status, revoked_by, revoked_ms, max_per_tx_micros, max_monthly_micros, rails,
    payees, expires_ms, email, event_seq, created_ms, limits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: UpdateMandate :execrows
UPDATE mandates SET status = $2, revoked_by = $3, revoked_ms = $4, event_seq = $5 WHERE id = $1;

-- name: UpdateEventSeq :execrows
-- What changes of a mandate while it is active. Without its status, no index has to be written.
UPDATE mandates SET event_seq = $1 WHERE id = $2;

-- name: UpdateLimits :execrows
UPDATE mandates SET max_per_tx_micros = $2, max_monthly_micros = $3, limits = $4 WHERE id = $1;

-- name: UpdateEmail :execrows
UPDATE mandates SET email = $2 WHERE id = $1;

-- name: UpdatePaused :execrows
UPDATE mandates SET paused_ms = $2 WHERE id = $1;

-- name: UpdateCard :execrows
UPDATE mandates SET card = $2 WHERE id = $1;

-- name: Windows :many
SELECT * FROM windows WHERE mandate_id = $1;

-- name: InsertWindow :exec
INSERT INTO windows (mandate_id, kind, cap, start_day, used) VALUES ($1, $2, $3, $4, $5);

-- name: UpdateWindow :execrows
UPDATE windows SET cap = $1, start_day = $2, used = $3 WHERE mandate_id = $4 AND kind = $5;

-- name: Charge :one
SELECT * FROM charges WHERE id = $1;

-- name: InsertCharge :exec
INSERT INTO charges (id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description, metadata,
    rails, day, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner,
    attempt, resource, step, authorized_micros, authorized_until_ms, usage, source, tab_id, card)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30);

-- name: UpdateCharge :execrows
UPDATE charges SET fee_micros = $1, status = $2, rail = $3, tx_hash = $4, processor_id = $5, failure_reason = $6,
    lease_ms = $7, asked = $8, settled_ms = $9, lease_owner = $10, attempt = $11
WHERE id = $12;

-- name: UpdateChargeStep :execrows
-- What changes of a charge in two steps besides.
UPDATE charges SET amount_micros = $2, rails = $3, step = $4, usage = $5 WHERE id = $1;

-- name: UpdateWrittenOff :execrows
-- What changes of a draw that is written off besides.
UPDATE charges SET written_off = $2 WHERE id = $1;

-- name: UpdateChargeRefunds :execrows
-- What changes of a charge by its refunds.
UPDATE charges SET refunded_micros = $2, refunding_micros = $3, refunds = $4 WHERE id = $1;

-- name: Refund :one
SELECT * FROM refunds WHERE id = $1;

-- name: InsertRefund :exec
INSERT INTO refunds (id, charge_id, mandate_id, merchant_id, n, amount_micros, reason, fingerprint, status, rail, tx_hash,
    processor_id, failure_reason, lease_owner, lease_ms, asked, created_ms, settled_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18);

-- name: UpdateRefund :execrows
UPDATE refunds SET status = $2, tx_hash = $3, processor_id = $4, failure_reason = $5, lease_owner = $6, lease_ms = $7, asked = $8,
    settled_ms = $9
WHERE id = $1;

-- name: UnfinishedTabs :many
SELECT * FROM tabs WHERE mandate_id = $1 AND merchant_id = $2 AND state <> 'closed';

-- name: InsertTab :exec
INSERT INTO tabs (id, mandate_id, merchant_id, state, outcome, reason, failure_reason, block_micros, owed_micros, drawn_micros,
    draws, capture_micros, processor_id, lease_owner, lease_ms, created_ms, closes_ms, closed_ms, counted_micros, rounded_micros, card)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21);

-- name: UpdateTab :execrows
UPDATE tabs SET state = $2, outcome = $3, reason = $4, failure_reason = $5, drawn_micros = $6, draws = $7, capture_micros = $8,
    processor_id = $9, lease_owner = $10, lease_ms = $11, closed_ms = $12, owed_micros = $13,
    counted_micros = $14, rounded_micros = $15
WHERE id = $1;

-- name: FreeTabLeases :execrows
UPDATE tabs SET lease_owner = '', lease_ms = 0 WHERE state = 'opening' AND lease_owner NOT LIKE CAST(sqlc.arg(own) AS TEXT);

-- name: FreeRefundLeases :execrows
UPDATE refunds SET lease_owner = '', lease_ms = 0
WHERE status = 'pending' AND lease_owner <> '' AND lease_owner NOT LIKE CAST(sqlc.arg(own) AS TEXT);

-- name: FreeChargeLeases :execrows
UPDATE charges SET lease_owner = '', lease_ms = 0
WHERE status = 'pending' AND lease_owner NOT LIKE CAST(sqlc.arg(own) AS TEXT);

-- name: Tally :one
SELECT * FROM tallies WHERE merchant_id = $1 AND mandate_id = $2;

-- name: InsertTally :exec
INSERT INTO tallies (merchant_id, mandate_id, count, volume_micros, start_day, used_micros, refunded_micros, owed_micros)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: UpdateTally :execrows
UPDATE tallies SET count = $3, volume_micros = $4, start_day = $5, used_micros = $6, refunded_micros = $7, owed_micros = $8
WHERE merchant_id = $1 AND mandate_id = $2;

-- name: Idempotency :one
SELECT * FROM idempotency WHERE merchant_id = $1 AND kind = $2 AND key = $3;

-- name: InsertIdempotency :exec
INSERT INTO idempotency (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: InsertOutcomeConflict :exec
INSERT INTO outcome_conflicts (charge_id, rail, status, reason, tx_hash, processor_id, at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING;

-- name: InsertPosting :exec
INSERT INTO postings (charge_id, n, mandate_id, from_account, to_account, amount_micros, at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: InsertEvent :exec
INSERT INTO events (id, mandate_id, seq, merchant_id, type, data, created_ms, place)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: TakePlaces :one
INSERT INTO webhook_streams (merchant_id, place) VALUES ($1, $2)
ON CONFLICT (merchant_id) DO UPDATE SET place = webhook_streams.place + excluded.place RETURNING place;

-- name: Checkout :one
SELECT * FROM checkouts WHERE entropy = $1;

-- name: InsertCheckout :exec
INSERT INTO checkouts (entropy, id, merchant_id, amount_micros, description, return_url, session_hash, charge_id,
    failure_reason, created_ms, expires_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: UpdateCheckout :execrows
UPDATE checkouts SET charge_id = $2, failure_reason = $3 WHERE entropy = $1;

-- name: Instrument :one
SELECT * FROM instruments WHERE reference = $1;

-- name: InsertInstrument :exec
INSERT INTO instruments (reference, session_hash, mandate_id, state, connection, rail, customer, method, brand,
    last_four, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: UpdateInstrument :execrows
UPDATE instruments SET mandate_id = $2, state = $3, connection = $4, rail = $5, customer = $6, method = $7, brand = $8,
    last_four = $9, changed_ms = $10
WHERE reference = $1;

-- name: InsertUnwinding :exec
-- The earlier of both times is kept. The due time always changes: whoever holds the row by it does not end it.
INSERT INTO unwindings (id, kind, since_ms, due_ms, attempts) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts,
    since_ms = CASE WHEN excluded.since_ms < unwindings.since_ms THEN excluded.since_ms ELSE unwindings.since_ms END,
    due_ms = CASE WHEN excluded.due_ms < unwindings.due_ms THEN excluded.due_ms ELSE unwindings.due_ms - 1 END;
