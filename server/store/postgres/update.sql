-- The statements of one Update on PostgreSQL, each for all rows of a kind. Rows are
-- locked in the order of their keys. Each @parameter is an array of one column; it has
-- the name of its column, and a field of the row's parameters has that name too.

-- name: LockSessions
SELECT hash, merchant_id, status, failure_reason, max_per_tx_micros, max_monthly_micros, rails, payees,
    mandate_expires_ms, return_url, metadata, attempts, mandate_id, sealed_token, created_ms, expires_ms, limits
FROM sessions WHERE hash = ANY(@hash::text[]) ORDER BY hash FOR UPDATE

-- name: LockMandates
SELECT id, merchant_id, status, revoked_by, revoked_ms, max_per_tx_micros, max_monthly_micros, rails, payees,
    expires_ms, email, event_seq, created_ms, limits, paused_ms, card
FROM mandates WHERE id = ANY(@id::text[]) ORDER BY id FOR UPDATE

-- name: Windows
-- Windows change only while their mandate is locked.
SELECT mandate_id, kind, cap, start_day, used FROM windows WHERE mandate_id = ANY(@id::text[])

-- name: LockCharges
SELECT id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description, metadata, rails, day,
    status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner,
    attempt, resource, step, authorized_micros, authorized_until_ms, usage, refunded_micros, refunding_micros, refunds,
    source, tab_id, written_off, card
FROM charges WHERE id = ANY(@id::text[]) ORDER BY id FOR UPDATE

-- name: LockCheckouts
SELECT entropy, id, merchant_id, amount_micros, description, return_url, session_hash, charge_id, failure_reason,
    created_ms, expires_ms
FROM checkouts WHERE entropy = ANY(@entropy::text[]) ORDER BY entropy FOR UPDATE

-- name: LockInstruments
SELECT reference, session_hash, mandate_id, state, connection, rail, customer, method, brand, last_four, created_ms,
    changed_ms
FROM instruments WHERE reference = ANY(@reference::text[]) ORDER BY reference FOR UPDATE

-- name: LockTallies
SELECT t.merchant_id, t.mandate_id, t.count, t.volume_micros, t.start_day, t.used_micros, t.refunded_micros, t.owed_micros
FROM tallies t
JOIN (SELECT unnest(@merchant_id::text[]) AS merchant_id, unnest(@mandate_id::text[]) AS mandate_id) k
    ON t.merchant_id = k.merchant_id AND t.mandate_id = k.mandate_id
ORDER BY t.mandate_id, t.merchant_id FOR UPDATE OF t

-- name: Idempotencies
SELECT i.merchant_id, i.kind, i.key, i.fingerprint, i.charge_id, i.refusal, i.created_ms
FROM idempotency i
JOIN (SELECT unnest(@merchant_id::text[]) AS merchant_id, unnest(@kind::text[]) AS kind, unnest(@key::text[]) AS key) k
    ON i.merchant_id = k.merchant_id AND i.kind = k.kind AND i.key = k.key

-- name: ChargesOfKeys
SELECT c.id, c.mandate_id, c.merchant_id, c.pay_to, c.amount_micros, c.fee_micros, c.currency, c.description,
    c.metadata, c.rails, c.day, c.status, c.rail, c.tx_hash, c.processor_id, c.failure_reason, c.lease_ms, c.asked,
    c.created_ms, c.settled_ms, c.lease_owner, c.attempt, c.resource, c.step, c.authorized_micros,
    c.authorized_until_ms, c.usage, c.refunded_micros, c.refunding_micros, c.refunds, c.source, c.tab_id, c.written_off, c.card
FROM charges c
JOIN idempotency i ON i.charge_id = c.id
JOIN (SELECT unnest(@merchant_id::text[]) AS merchant_id, unnest(@kind::text[]) AS kind, unnest(@key::text[]) AS key) k
    ON i.merchant_id = k.merchant_id AND i.kind = k.kind AND i.key = k.key

-- name: InsertSessions
INSERT INTO sessions (hash, merchant_id, status, failure_reason, max_per_tx_micros, max_monthly_micros, rails, payees,
    mandate_expires_ms, return_url, metadata, attempts, mandate_id, sealed_token, created_ms, expires_ms, limits)
SELECT unnest(@hash::text[]), unnest(@merchant_id::text[]), unnest(@status::text[]), unnest(@failure_reason::text[]), unnest(@max_per_tx_micros::bigint[]),
    unnest(@max_monthly_micros::bigint[]), unnest(@rails::text[]), unnest(@payees::text[]), unnest(@mandate_expires_ms::bigint[]), unnest(@return_url::text[]),
    unnest(@metadata::text[]), unnest(@attempts::bigint[]), unnest(@mandate_id::text[]), unnest(@sealed_token::bytea[]), unnest(@created_ms::bigint[]),
    unnest(@expires_ms::bigint[]), unnest(@limits::text[])

-- name: UpdateSessions
UPDATE sessions t SET status = u.status, failure_reason = u.failure_reason, attempts = u.attempts,
    mandate_id = u.mandate_id, sealed_token = u.sealed_token
FROM (SELECT unnest(@hash::text[]) AS hash, unnest(@status::text[]) AS status, unnest(@failure_reason::text[]) AS failure_reason,
    unnest(@attempts::bigint[]) AS attempts, unnest(@mandate_id::text[]) AS mandate_id, unnest(@sealed_token::bytea[]) AS sealed_token) u
WHERE t.hash = u.hash

-- name: InsertMandates
INSERT INTO mandates (id, merchant_id, status, revoked_by, revoked_ms, max_per_tx_micros, max_monthly_micros, rails,
    payees, expires_ms, email, event_seq, created_ms, limits)
SELECT unnest(@id::text[]), unnest(@merchant_id::text[]), unnest(@status::text[]), unnest(@revoked_by::text[]), unnest(@revoked_ms::bigint[]),
    unnest(@max_per_tx_micros::bigint[]), unnest(@max_monthly_micros::bigint[]), unnest(@rails::text[]), unnest(@payees::text[]), unnest(@expires_ms::bigint[]),
    unnest(@email::text[]), unnest(@event_seq::bigint[]), unnest(@created_ms::bigint[]), unnest(@limits::text[])

-- name: UpdateMandates
UPDATE mandates t SET status = u.status, revoked_by = u.revoked_by, revoked_ms = u.revoked_ms,
    event_seq = u.event_seq
FROM (SELECT unnest(@id::text[]) AS id, unnest(@status::text[]) AS status, unnest(@revoked_by::text[]) AS revoked_by,
    unnest(@revoked_ms::bigint[]) AS revoked_ms,
    unnest(@event_seq::bigint[]) AS event_seq) u
WHERE t.id = u.id

-- name: UpdateLimits
UPDATE mandates t SET max_per_tx_micros = u.max_per_tx_micros, max_monthly_micros = u.max_monthly_micros, limits = u.limits
FROM (SELECT unnest(@id::text[]) AS id, unnest(@max_per_tx_micros::bigint[]) AS max_per_tx_micros,
    unnest(@max_monthly_micros::bigint[]) AS max_monthly_micros, unnest(@limits::text[]) AS limits) u
WHERE t.id = u.id

-- name: UpdateEmail
UPDATE mandates t SET email = u.email
FROM (SELECT unnest(@id::text[]) AS id, unnest(@email::text[]) AS email) u
WHERE t.id = u.id

-- name: UpdatePaused
UPDATE mandates t SET paused_ms = u.paused_ms
FROM (SELECT unnest(@id::text[]) AS id, unnest(@paused_ms::bigint[]) AS paused_ms) u
WHERE t.id = u.id

-- name: UpdateCard
UPDATE mandates t SET card = u.card
FROM (SELECT unnest(@id::text[]) AS id, unnest(@card::text[]) AS card) u
WHERE t.id = u.id

-- name: InsertWindows
INSERT INTO windows (mandate_id, kind, cap, start_day, used)
SELECT unnest(@mandate_id::text[]), unnest(@kind::text[]), unnest(@cap::bigint[]), unnest(@start_day::bigint[]), unnest(@used::bigint[])

-- name: UpdateWindows
UPDATE windows t SET cap = u.cap, start_day = u.start_day, used = u.used
FROM (SELECT unnest(@mandate_id::text[]) AS mandate_id, unnest(@kind::text[]) AS kind, unnest(@cap::bigint[]) AS cap,
    unnest(@start_day::bigint[]) AS start_day, unnest(@used::bigint[]) AS used) u
WHERE t.mandate_id = u.mandate_id AND t.kind = u.kind

-- name: InsertCharges
INSERT INTO charges (id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description, metadata,
    rails, day, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner,
    attempt, resource, step, authorized_micros, authorized_until_ms, usage, source, tab_id, card)
SELECT unnest(@id::text[]), unnest(@mandate_id::text[]), unnest(@merchant_id::text[]), unnest(@pay_to::text[]), unnest(@amount_micros::bigint[]),
    unnest(@fee_micros::bigint[]), unnest(@currency::text[]), unnest(@description::text[]), unnest(@metadata::text[]), unnest(@rails::text[]),
    unnest(@day::bigint[]), unnest(@status::text[]), unnest(@rail::text[]), unnest(@tx_hash::text[]), unnest(@processor_id::text[]),
    unnest(@failure_reason::text[]), unnest(@lease_ms::bigint[]), unnest(@asked::bigint[]), unnest(@created_ms::bigint[]), unnest(@settled_ms::bigint[]),
    unnest(@lease_owner::text[]), unnest(@attempt::bigint[]), unnest(@resource::text[]), unnest(@step::text[]), unnest(@authorized_micros::bigint[]),
    unnest(@authorized_until_ms::bigint[]), unnest(@usage::text[]), unnest(@source::text[]), unnest(@tab_id::text[]),
    unnest(@card::text[])

-- name: UpdateCharges
UPDATE charges t SET fee_micros = u.fee_micros, status = u.status, rail = u.rail, tx_hash = u.tx_hash,
    processor_id = u.processor_id, failure_reason = u.failure_reason, lease_ms = u.lease_ms, asked = u.asked,
    settled_ms = u.settled_ms, lease_owner = u.lease_owner, attempt = u.attempt
FROM (SELECT unnest(@id::text[]) AS id, unnest(@fee_micros::bigint[]) AS fee_micros, unnest(@status::text[]) AS status,
    unnest(@rail::text[]) AS rail, unnest(@tx_hash::text[]) AS tx_hash, unnest(@processor_id::text[]) AS processor_id,
    unnest(@failure_reason::text[]) AS failure_reason, unnest(@lease_ms::bigint[]) AS lease_ms, unnest(@asked::bigint[]) AS asked,
    unnest(@settled_ms::bigint[]) AS settled_ms, unnest(@lease_owner::text[]) AS lease_owner, unnest(@attempt::bigint[]) AS attempt) u
WHERE t.id = u.id

-- name: UpdateChargeSteps
UPDATE charges t SET amount_micros = u.amount_micros, rails = u.rails, step = u.step, usage = u.usage
FROM (SELECT unnest(@id::text[]) AS id, unnest(@amount_micros::bigint[]) AS amount_micros, unnest(@rails::text[]) AS rails,
    unnest(@step::text[]) AS step, unnest(@usage::text[]) AS usage) u
WHERE t.id = u.id

-- name: UpdateChargeRefunds
UPDATE charges t SET refunded_micros = u.refunded_micros, refunding_micros = u.refunding_micros, refunds = u.refunds
FROM (SELECT unnest(@id::text[]) AS id, unnest(@refunded_micros::bigint[]) AS refunded_micros,
    unnest(@refunding_micros::bigint[]) AS refunding_micros, unnest(@refunds::bigint[]) AS refunds) u
WHERE t.id = u.id

-- name: UpdateWrittenOff
UPDATE charges t SET written_off = u.written_off
FROM (SELECT unnest(@id::text[]) AS id, unnest(@written_off::bigint[]) AS written_off) u
WHERE t.id = u.id

-- name: LockTabs
-- Only tabs that are not closed.
SELECT t.id, t.mandate_id, t.merchant_id, t.state, t.outcome, t.reason, t.failure_reason, t.block_micros, t.owed_micros,
    t.drawn_micros, t.draws, t.capture_micros, t.processor_id, t.lease_owner, t.lease_ms, t.created_ms, t.closes_ms, t.closed_ms,
    t.counted_micros, t.rounded_micros, t.card
FROM tabs t
JOIN (SELECT unnest(@mandate_id::text[]) AS mandate_id, unnest(@merchant_id::text[]) AS merchant_id) k
    ON t.mandate_id = k.mandate_id AND t.merchant_id = k.merchant_id
WHERE t.state <> 'closed' ORDER BY t.id FOR UPDATE OF t

-- name: InsertTabs
INSERT INTO tabs (id, mandate_id, merchant_id, state, outcome, reason, failure_reason, block_micros, owed_micros, drawn_micros,
    draws, capture_micros, processor_id, lease_owner, lease_ms, created_ms, closes_ms, closed_ms, counted_micros, rounded_micros, card)
SELECT unnest(@id::text[]), unnest(@mandate_id::text[]), unnest(@merchant_id::text[]), unnest(@state::text[]), unnest(@outcome::text[]),
    unnest(@reason::text[]), unnest(@failure_reason::text[]), unnest(@block_micros::bigint[]), unnest(@owed_micros::bigint[]),
    unnest(@drawn_micros::bigint[]), unnest(@draws::bigint[]), unnest(@capture_micros::bigint[]), unnest(@processor_id::text[]),
    unnest(@lease_owner::text[]), unnest(@lease_ms::bigint[]), unnest(@created_ms::bigint[]), unnest(@closes_ms::bigint[]),
    unnest(@closed_ms::bigint[]), unnest(@counted_micros::bigint[]), unnest(@rounded_micros::bigint[]), unnest(@card::text[])

-- name: UpdateTabs
UPDATE tabs t SET state = u.state, outcome = u.outcome, reason = u.reason, failure_reason = u.failure_reason,
    drawn_micros = u.drawn_micros, draws = u.draws, capture_micros = u.capture_micros, processor_id = u.processor_id,
    lease_owner = u.lease_owner, lease_ms = u.lease_ms, closed_ms = u.closed_ms,
    owed_micros = u.owed_micros, counted_micros = u.counted_micros, rounded_micros = u.rounded_micros
FROM (SELECT unnest(@id::text[]) AS id, unnest(@state::text[]) AS state, unnest(@outcome::text[]) AS outcome, unnest(@reason::text[]) AS reason,
    unnest(@failure_reason::text[]) AS failure_reason, unnest(@drawn_micros::bigint[]) AS drawn_micros, unnest(@draws::bigint[]) AS draws,
    unnest(@capture_micros::bigint[]) AS capture_micros, unnest(@processor_id::text[]) AS processor_id,
    unnest(@lease_owner::text[]) AS lease_owner, unnest(@lease_ms::bigint[]) AS lease_ms, unnest(@closed_ms::bigint[]) AS closed_ms,
    unnest(@owed_micros::bigint[]) AS owed_micros, unnest(@counted_micros::bigint[]) AS counted_micros,
    unnest(@rounded_micros::bigint[]) AS rounded_micros) u
WHERE t.id = u.id

-- name: LockRefunds
SELECT id, charge_id, mandate_id, merchant_id, n, amount_micros, reason, fingerprint, status, rail, tx_hash, processor_id,
    failure_reason, lease_owner, lease_ms, asked, created_ms, settled_ms
FROM refunds WHERE id = ANY(@id::text[]) ORDER BY id FOR UPDATE

-- name: InsertRefunds
INSERT INTO refunds (id, charge_id, mandate_id, merchant_id, n, amount_micros, reason, fingerprint, status, rail, tx_hash,
    processor_id, failure_reason, lease_owner, lease_ms, asked, created_ms, settled_ms)
SELECT unnest(@id::text[]), unnest(@charge_id::text[]), unnest(@mandate_id::text[]), unnest(@merchant_id::text[]), unnest(@n::bigint[]),
    unnest(@amount_micros::bigint[]), unnest(@reason::text[]), unnest(@fingerprint::text[]), unnest(@status::text[]), unnest(@rail::text[]),
    unnest(@tx_hash::text[]), unnest(@processor_id::text[]), unnest(@failure_reason::text[]), unnest(@lease_owner::text[]),
    unnest(@lease_ms::bigint[]), unnest(@asked::bigint[]), unnest(@created_ms::bigint[]), unnest(@settled_ms::bigint[])

-- name: UpdateRefunds
UPDATE refunds t SET status = u.status, tx_hash = u.tx_hash, processor_id = u.processor_id, failure_reason = u.failure_reason,
    lease_owner = u.lease_owner, lease_ms = u.lease_ms, asked = u.asked, settled_ms = u.settled_ms
FROM (SELECT unnest(@id::text[]) AS id, unnest(@status::text[]) AS status, unnest(@tx_hash::text[]) AS tx_hash,
    unnest(@processor_id::text[]) AS processor_id, unnest(@failure_reason::text[]) AS failure_reason,
    unnest(@lease_owner::text[]) AS lease_owner, unnest(@lease_ms::bigint[]) AS lease_ms, unnest(@asked::bigint[]) AS asked,
    unnest(@settled_ms::bigint[]) AS settled_ms) u
WHERE t.id = u.id

-- name: InsertCheckouts
INSERT INTO checkouts (entropy, id, merchant_id, amount_micros, description, return_url, session_hash, charge_id,
    failure_reason, created_ms, expires_ms)
SELECT unnest(@entropy::text[]), unnest(@id::text[]), unnest(@merchant_id::text[]), unnest(@amount_micros::bigint[]), unnest(@description::text[]),
    unnest(@return_url::text[]), unnest(@session_hash::text[]), unnest(@charge_id::text[]), unnest(@failure_reason::text[]), unnest(@created_ms::bigint[]),
    unnest(@expires_ms::bigint[])

-- name: UpdateCheckouts
UPDATE checkouts t SET charge_id = u.charge_id, failure_reason = u.failure_reason
FROM (SELECT unnest(@entropy::text[]) AS entropy, unnest(@charge_id::text[]) AS charge_id, unnest(@failure_reason::text[]) AS failure_reason) u
WHERE t.entropy = u.entropy

-- name: InsertInstruments
INSERT INTO instruments (reference, session_hash, mandate_id, state, connection, rail, customer, method, brand,
    last_four, created_ms, changed_ms)
SELECT unnest(@reference::text[]), unnest(@session_hash::text[]), unnest(@mandate_id::text[]), unnest(@state::text[]), unnest(@connection::text[]),
    unnest(@rail::text[]), unnest(@customer::text[]), unnest(@method::text[]), unnest(@brand::text[]), unnest(@last_four::text[]),
    unnest(@created_ms::bigint[]), unnest(@changed_ms::bigint[])

-- name: UpdateInstruments
UPDATE instruments t SET mandate_id = u.mandate_id, state = u.state, connection = u.connection, rail = u.rail,
    customer = u.customer, method = u.method, brand = u.brand, last_four = u.last_four, changed_ms = u.changed_ms
FROM (SELECT unnest(@reference::text[]) AS reference, unnest(@mandate_id::text[]) AS mandate_id, unnest(@state::text[]) AS state,
    unnest(@connection::text[]) AS connection, unnest(@rail::text[]) AS rail, unnest(@customer::text[]) AS customer,
    unnest(@method::text[]) AS method, unnest(@brand::text[]) AS brand, unnest(@last_four::text[]) AS last_four,
    unnest(@changed_ms::bigint[]) AS changed_ms) u
WHERE t.reference = u.reference

-- name: InsertUnwindings
-- The earlier of both times is kept. The due time always changes: whoever holds the row by it does not end it.
INSERT INTO unwindings (id, kind, since_ms, due_ms, attempts)
SELECT unnest(@id::text[]), unnest(@kind::text[]), unnest(@since_ms::bigint[]), unnest(@due_ms::bigint[]), unnest(@attempts::bigint[])
ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts,
    since_ms = CASE WHEN excluded.since_ms < unwindings.since_ms THEN excluded.since_ms ELSE unwindings.since_ms END,
    due_ms = CASE WHEN excluded.due_ms < unwindings.due_ms THEN excluded.due_ms ELSE unwindings.due_ms - 1 END

-- name: InsertTallies
INSERT INTO tallies (merchant_id, mandate_id, count, volume_micros, start_day, used_micros, refunded_micros, owed_micros)
SELECT unnest(@merchant_id::text[]), unnest(@mandate_id::text[]), unnest(@count::bigint[]), unnest(@volume_micros::bigint[]),
    unnest(@start_day::bigint[]), unnest(@used_micros::bigint[]), unnest(@refunded_micros::bigint[]), unnest(@owed_micros::bigint[])

-- name: UpdateTallies
UPDATE tallies t SET count = u.count, volume_micros = u.volume_micros, start_day = u.start_day, used_micros = u.used_micros,
    refunded_micros = u.refunded_micros, owed_micros = u.owed_micros
FROM (SELECT unnest(@merchant_id::text[]) AS merchant_id, unnest(@mandate_id::text[]) AS mandate_id, unnest(@count::bigint[]) AS count,
    unnest(@volume_micros::bigint[]) AS volume_micros, unnest(@start_day::bigint[]) AS start_day,
    unnest(@used_micros::bigint[]) AS used_micros, unnest(@refunded_micros::bigint[]) AS refunded_micros,
    unnest(@owed_micros::bigint[]) AS owed_micros) u
WHERE t.merchant_id = u.merchant_id AND t.mandate_id = u.mandate_id

-- name: InsertIdempotencies
INSERT INTO idempotency (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT unnest(@merchant_id::text[]), unnest(@kind::text[]), unnest(@key::text[]), unnest(@fingerprint::text[]), unnest(@charge_id::text[]),
    unnest(@refusal::text[]), unnest(@created_ms::bigint[])

-- name: InsertOutcomeConflicts
INSERT INTO outcome_conflicts (charge_id, rail, status, reason, tx_hash, processor_id, at_ms)
SELECT unnest(@charge_id::text[]), unnest(@rail::text[]), unnest(@status::text[]), unnest(@reason::text[]), unnest(@tx_hash::text[]),
    unnest(@processor_id::text[]), unnest(@at_ms::bigint[])
ON CONFLICT (charge_id, rail, status, tx_hash, processor_id) DO NOTHING

-- name: InsertPostings
INSERT INTO postings (charge_id, n, mandate_id, from_account, to_account, amount_micros, at_ms)
SELECT unnest(@charge_id::text[]), unnest(@n::bigint[]), unnest(@mandate_id::text[]), unnest(@from_account::text[]), unnest(@to_account::text[]),
    unnest(@amount_micros::bigint[]), unnest(@at_ms::bigint[])

-- name: InsertEvents
WITH fresh AS (
    SELECT unnest(@id::text[]) AS id, unnest(@mandate_id::text[]) AS mandate_id, unnest(@seq::bigint[]) AS seq, unnest(@merchant_id::text[]) AS merchant_id,
        unnest(@type::text[]) AS type, unnest(@data::text[]) AS data, unnest(@created_ms::bigint[]) AS created_ms, unnest(@place::bigint[]) AS place
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
RETURNING id, place
