-- The statements of one Update on PostgreSQL, each for all rows of a kind. Rows
-- are locked in the order of their keys. Columns come as arrays, in the order of
-- the single-row statement of the same meaning.

-- name: LockSessions :many
SELECT * FROM sessions WHERE hash = ANY($1::text[]) ORDER BY hash FOR UPDATE;

-- name: LockMandates :many
SELECT * FROM mandates WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE;

-- name: LockCharges :many
SELECT * FROM charges WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE;

-- name: LockCheckouts :many
SELECT * FROM checkouts WHERE entropy = ANY($1::text[]) ORDER BY entropy FOR UPDATE;

-- name: LockInstruments :many
SELECT * FROM instruments WHERE reference = ANY($1::text[]) ORDER BY reference FOR UPDATE;

-- name: LockTallies :many
SELECT t.* FROM tallies t
JOIN (SELECT unnest($1::text[]) AS merchant_id, unnest($2::text[]) AS mandate_id) k
    ON t.merchant_id = k.merchant_id AND t.mandate_id = k.mandate_id
ORDER BY t.mandate_id, t.merchant_id FOR UPDATE OF t;

-- name: Idempotencies :many
SELECT i.* FROM idempotency i
JOIN (SELECT unnest($1::text[]) AS merchant_id, unnest($2::text[]) AS kind, unnest($3::text[]) AS key) k
    ON i.merchant_id = k.merchant_id AND i.kind = k.kind AND i.key = k.key;

-- name: ChargesOfKeys :many
SELECT c.* FROM charges c
JOIN idempotency i ON i.charge_id = c.id
JOIN (SELECT unnest($1::text[]) AS merchant_id, unnest($2::text[]) AS kind, unnest($3::text[]) AS key) k
    ON i.merchant_id = k.merchant_id AND i.kind = k.kind AND i.key = k.key;

-- name: InsertSessions :exec
INSERT INTO sessions (hash, merchant_id, status, failure_reason, max_per_tx_micros, max_monthly_micros, rails, payees,
    mandate_expires_ms, return_url, metadata, attempts, mandate_id, sealed_token, created_ms, expires_ms)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::bigint[]),
    unnest($6::bigint[]), unnest($7::text[]), unnest($8::text[]), unnest($9::bigint[]), unnest($10::text[]),
    unnest($11::text[]), unnest($12::bigint[]), unnest($13::text[]), unnest($14::bytea[]), unnest($15::bigint[]),
    unnest($16::bigint[]);

-- name: UpdateSessions :exec
UPDATE sessions t SET status = u.status, failure_reason = u.failure_reason, attempts = u.attempts,
    mandate_id = u.mandate_id, sealed_token = u.sealed_token
FROM (SELECT unnest($1::text[]) AS hash, unnest($2::text[]) AS status, unnest($3::text[]) AS failure_reason,
    unnest($4::bigint[]) AS attempts, unnest($5::text[]) AS mandate_id, unnest($6::bytea[]) AS sealed_token) u
WHERE t.hash = u.hash;

-- name: InsertMandates :exec
INSERT INTO mandates (id, merchant_id, status, revoked_by, revoked_ms, max_per_tx_micros, max_monthly_micros, rails,
    payees, expires_ms, month, spent_micros, email, event_seq, created_ms)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::bigint[]),
    unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::text[]), unnest($9::text[]), unnest($10::bigint[]),
    unnest($11::bigint[]), unnest($12::bigint[]), unnest($13::text[]), unnest($14::bigint[]), unnest($15::bigint[]);

-- name: UpdateMandates :exec
UPDATE mandates t SET status = u.status, revoked_by = u.revoked_by, revoked_ms = u.revoked_ms, month = u.month,
    spent_micros = u.spent_micros, event_seq = u.event_seq
FROM (SELECT unnest($1::text[]) AS id, unnest($2::text[]) AS status, unnest($3::text[]) AS revoked_by,
    unnest($4::bigint[]) AS revoked_ms, unnest($5::bigint[]) AS month, unnest($6::bigint[]) AS spent_micros,
    unnest($7::bigint[]) AS event_seq) u
WHERE t.id = u.id;

-- name: InsertCharges :exec
INSERT INTO charges (id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description, metadata,
    rails, month, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner,
    attempt, resource)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::bigint[]),
    unnest($6::bigint[]), unnest($7::text[]), unnest($8::text[]), unnest($9::text[]), unnest($10::text[]),
    unnest($11::bigint[]), unnest($12::text[]), unnest($13::text[]), unnest($14::text[]), unnest($15::text[]),
    unnest($16::text[]), unnest($17::bigint[]), unnest($18::bigint[]), unnest($19::bigint[]), unnest($20::bigint[]),
    unnest($21::text[]), unnest($22::bigint[]), unnest($23::text[]);

-- name: UpdateCharges :exec
UPDATE charges t SET fee_micros = u.fee_micros, status = u.status, rail = u.rail, tx_hash = u.tx_hash,
    processor_id = u.processor_id, failure_reason = u.failure_reason, lease_ms = u.lease_ms, asked = u.asked,
    settled_ms = u.settled_ms, lease_owner = u.lease_owner, attempt = u.attempt
FROM (SELECT unnest($1::text[]) AS id, unnest($2::bigint[]) AS fee_micros, unnest($3::text[]) AS status,
    unnest($4::text[]) AS rail, unnest($5::text[]) AS tx_hash, unnest($6::text[]) AS processor_id,
    unnest($7::text[]) AS failure_reason, unnest($8::bigint[]) AS lease_ms, unnest($9::bigint[]) AS asked,
    unnest($10::bigint[]) AS settled_ms, unnest($11::text[]) AS lease_owner, unnest($12::bigint[]) AS attempt) u
WHERE t.id = u.id;

-- name: InsertCheckouts :exec
INSERT INTO checkouts (entropy, id, merchant_id, amount_micros, description, return_url, session_hash, charge_id,
    failure_reason, created_ms, expires_ms)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::bigint[]), unnest($5::text[]),
    unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::text[]), unnest($10::bigint[]),
    unnest($11::bigint[]);

-- name: UpdateCheckouts :exec
UPDATE checkouts t SET charge_id = u.charge_id, failure_reason = u.failure_reason
FROM (SELECT unnest($1::text[]) AS entropy, unnest($2::text[]) AS charge_id, unnest($3::text[]) AS failure_reason) u
WHERE t.entropy = u.entropy;

-- name: InsertInstruments :exec
INSERT INTO instruments (reference, session_hash, mandate_id, state, connection, rail, customer, method, brand,
    last_four, created_ms, changed_ms)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
    unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::text[]), unnest($10::text[]),
    unnest($11::bigint[]), unnest($12::bigint[]);

-- name: UpdateInstruments :exec
UPDATE instruments t SET mandate_id = u.mandate_id, state = u.state, connection = u.connection, rail = u.rail,
    customer = u.customer, method = u.method, brand = u.brand, last_four = u.last_four, changed_ms = u.changed_ms
FROM (SELECT unnest($1::text[]) AS reference, unnest($2::text[]) AS mandate_id, unnest($3::text[]) AS state,
    unnest($4::text[]) AS connection, unnest($5::text[]) AS rail, unnest($6::text[]) AS customer,
    unnest($7::text[]) AS method, unnest($8::text[]) AS brand, unnest($9::text[]) AS last_four,
    unnest($10::bigint[]) AS changed_ms) u
WHERE t.reference = u.reference;

-- name: InsertUnwindings :exec
-- The earlier of both times is kept. The due time always changes: whoever holds the row by it does not end it.
INSERT INTO unwindings (id, kind, since_ms, due_ms, attempts)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[])
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts,
    since_ms = CASE WHEN excluded.since_ms < unwindings.since_ms THEN excluded.since_ms ELSE unwindings.since_ms END,
    due_ms = CASE WHEN excluded.due_ms < unwindings.due_ms THEN excluded.due_ms ELSE unwindings.due_ms - 1 END;

-- name: InsertTallies :exec
INSERT INTO tallies (merchant_id, mandate_id, count, volume_micros)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[]);

-- name: UpdateTallies :exec
UPDATE tallies t SET count = u.count, volume_micros = u.volume_micros
FROM (SELECT unnest($1::text[]) AS merchant_id, unnest($2::text[]) AS mandate_id, unnest($3::bigint[]) AS count,
    unnest($4::bigint[]) AS volume_micros) u
WHERE t.merchant_id = u.merchant_id AND t.mandate_id = u.mandate_id;

-- name: InsertIdempotencies :exec
INSERT INTO idempotency (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
    unnest($6::text[]), unnest($7::bigint[]);

-- name: InsertOutcomeConflicts :exec
INSERT INTO outcome_conflicts (charge_id, rail, status, reason, tx_hash, processor_id, at_ms)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
    unnest($6::text[]), unnest($7::bigint[])
ON CONFLICT (charge_id, rail, status, tx_hash, processor_id) DO NOTHING;

-- name: InsertPostings :exec
INSERT INTO postings (charge_id, n, mandate_id, from_account, to_account, amount_micros, at_ms)
SELECT unnest($1::text[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
    unnest($6::bigint[]), unnest($7::bigint[]);

-- name: InsertEvents :many
WITH fresh AS (
    SELECT unnest($1::text[]) AS id, unnest($2::text[]) AS mandate_id, unnest($3::bigint[]) AS seq, unnest($4::text[]) AS merchant_id,
        unnest($5::text[]) AS type, unnest($6::text[]) AS data, unnest($7::bigint[]) AS created_ms, unnest($8::bigint[]) AS place
), taken AS (
    INSERT INTO webhook_streams (merchant_id, place)
    SELECT merchant_id, COUNT(*) FROM fresh GROUP BY merchant_id ORDER BY merchant_id
    ON CONFLICT (merchant_id) DO UPDATE SET place = webhook_streams.place + excluded.place
    RETURNING merchant_id, place
)
INSERT INTO events (id, mandate_id, seq, merchant_id, type, data, created_ms, place)
SELECT f.id, f.mandate_id, f.seq, f.merchant_id, f.type, f.data, f.created_ms,
    t.place - COUNT(*) OVER (PARTITION BY f.merchant_id) + f.place
FROM fresh f JOIN taken t ON t.merchant_id = f.merchant_id
RETURNING id, place;
