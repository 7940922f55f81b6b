-- name: Charges :many
SELECT * FROM charges WHERE merchant_id = sqlc.arg(merchant_id) AND id < sqlc.arg(before) ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: ChargesOfTransaction :many
SELECT * FROM charges WHERE resource <> '' AND tx_hash <> '' AND tx_hash IN (CAST(sqlc.arg(tx) AS TEXT), CAST(sqlc.arg(lower_case) AS TEXT))
UNION ALL
SELECT * FROM charges WHERE resource <> '' AND processor_id <> '' AND processor_id = CAST(sqlc.arg(tx) AS TEXT)
LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: ExpiredHolds :many
SELECT * FROM charges WHERE status = 'authorized' AND tab_id = '' AND authorized_until_ms <= sqlc.arg(now_ms)
ORDER BY authorized_until_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: Tab :one
SELECT * FROM tabs WHERE id = $1;

-- name: Tabs :many
SELECT * FROM tabs WHERE merchant_id = sqlc.arg(merchant_id) AND id < sqlc.arg(before) ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: MandateTabs :many
SELECT * FROM tabs WHERE mandate_id = sqlc.arg(mandate_id) ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: CurrentTabs :many
SELECT * FROM tabs WHERE mandate_id = $1 AND state IN ('opening', 'open') ORDER BY id;

-- name: Owed :one
-- What payers owe for tabs, if a tab of theirs closes, or was closed since a time.
SELECT CAST(COALESCE(SUM(w.owed_micros), 0) AS BIGINT) AS micros FROM tallies w
WHERE w.merchant_id = sqlc.arg(merchant_id) AND w.owed_micros > 0 AND EXISTS (SELECT 1 FROM tabs t
    WHERE t.mandate_id = w.mandate_id AND t.merchant_id = w.merchant_id AND (t.closed_ms >= sqlc.arg(since_ms) OR t.state IN ('closing', 'settling')));

-- name: Exposure :one
-- The most that tabs may cost whose rail has not decided, and that are not part of what payers owe: see [ledger.Tab].
SELECT CAST(COALESCE(SUM(CASE WHEN owed_micros + drawn_micros < CAST(sqlc.arg(minimum) AS BIGINT) THEN CAST(sqlc.arg(minimum) AS BIGINT)
    ELSE owed_micros END), 0) AS BIGINT) AS micros FROM tabs
WHERE merchant_id = sqlc.arg(merchant_id) AND state <> 'closed' AND state <> 'settling' AND counted_micros = 0
    AND (state <> 'closing' OR owed_micros + drawn_micros > 0);

-- name: TabsAfter :many
SELECT * FROM tabs WHERE id > $1 ORDER BY id LIMIT $2;

-- name: PaidBy :one
-- What a tab owes was advanced by earlier ones. The first of those that may have captured it
-- did, unless it is undecided.
SELECT p.id FROM tabs t JOIN tabs p ON p.mandate_id = t.mandate_id AND p.merchant_id = t.merchant_id
WHERE t.id = $1 AND p.id <> t.id AND p.created_ms >= t.created_ms AND p.outcome = 'captured' AND p.owed_micros > 0
AND NOT EXISTS (SELECT 1 FROM tabs u WHERE u.mandate_id = t.mandate_id AND u.merchant_id = t.merchant_id AND u.id <> t.id
    AND u.created_ms >= t.created_ms AND u.created_ms < p.created_ms AND u.outcome = '' AND u.owed_micros > 0 AND u.capture_micros > 0)
ORDER BY p.created_ms, p.id LIMIT 1;

-- name: Draws :many
SELECT * FROM charges WHERE tab_id <> '' AND tab_id = sqlc.arg(tab_id) AND id > sqlc.arg(after) ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: RefundOf :one
SELECT * FROM refunds WHERE charge_id = $1 AND id = $2;

-- name: RefundsOf :many
SELECT * FROM refunds WHERE charge_id = sqlc.arg(charge_id) AND n > sqlc.arg(after) ORDER BY n LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: LapsedRefunds :many
-- without is a list of rails, each with a space before and after it.
SELECT * FROM refunds WHERE status = 'pending' AND lease_ms <= sqlc.arg(before_ms)
    AND CAST(sqlc.arg(without) AS TEXT) NOT LIKE '% ' || rail || ' %'
ORDER BY lease_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: RefundFacts :many
SELECT id, charge_id, mandate_id, amount_micros, status, rail, settled_ms FROM refunds WHERE id > $1 ORDER BY id LIMIT $2;

-- name: OutcomeConflicts :many
SELECT * FROM outcome_conflicts WHERE (charge_id, rail, status, tx_hash, processor_id) > (
    CAST(sqlc.arg(charge_id) AS TEXT), CAST(sqlc.arg(rail) AS TEXT), CAST(sqlc.arg(status) AS TEXT),
    CAST(sqlc.arg(tx_hash) AS TEXT), CAST(sqlc.arg(processor_id) AS TEXT)
)
ORDER BY charge_id, rail, status, tx_hash, processor_id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: Reversals :one
SELECT COUNT(*) FROM outcome_conflicts WHERE charge_id = $1 AND status = 'reversed';

-- name: Totals :one
SELECT CAST(COALESCE(SUM(volume_micros), 0) AS BIGINT) AS volume, CAST(COALESCE(SUM(count), 0) AS BIGINT) AS count,
    CAST(COALESCE(SUM(refunded_micros), 0) AS BIGINT) AS refunded
FROM tallies WHERE merchant_id = $1;

-- name: ActiveMandates :one
SELECT COUNT(*) FROM mandates WHERE merchant_id = $1 AND status = 'active' AND expires_ms > $2;

-- name: Counters :many
SELECT id, status, limits, event_seq FROM mandates WHERE id > $1 ORDER BY id LIMIT $2;

-- name: WindowsBetween :many
SELECT * FROM windows WHERE mandate_id > $1 AND mandate_id <= $2;

-- name: ChargeFacts :many
SELECT id, mandate_id, merchant_id, amount_micros, fee_micros, day, status, rail, step, refunded_micros, refunding_micros,
    refunds, tab_id, written_off, source FROM charges
WHERE id > $1 ORDER BY id LIMIT $2;

-- name: PostingsBetween :many
SELECT * FROM postings WHERE charge_id > $1 AND charge_id <= $2 ORDER BY charge_id, n;

-- name: PostingsOf :many
SELECT * FROM postings WHERE charge_id = $1 ORDER BY n;

-- name: TalliesAfter :many
SELECT * FROM tallies WHERE (merchant_id, mandate_id) > (CAST(sqlc.arg(merchant_id) AS TEXT), CAST(sqlc.arg(mandate_id) AS TEXT))
ORDER BY merchant_id, mandate_id LIMIT sqlc.arg(page);

-- name: EventFacts :many
SELECT mandate_id, seq, type, created_ms FROM events WHERE (mandate_id, seq) > (CAST(sqlc.arg(mandate_id) AS TEXT), CAST(sqlc.arg(seq) AS BIGINT))
ORDER BY mandate_id, seq LIMIT sqlc.arg(page);

-- name: EventsOf :many
SELECT * FROM events WHERE mandate_id = $1 AND seq > $2 ORDER BY seq;

-- name: SelectedCharges :many
-- Charges with refunds, and purchases that no seller took, are selected whenever they were
-- settled: the caller reads the times of their postings.
SELECT * FROM charges WHERE id > sqlc.arg(after) AND id < sqlc.arg(before) AND created_ms >= sqlc.arg(created_from) AND created_ms < sqlc.arg(created_to)
    AND (settled_ms >= sqlc.arg(settled_from) AND settled_ms < sqlc.arg(settled_to) OR refunds > CAST(sqlc.arg(without_refunds) AS BIGINT)
        OR source = 'seller' AND status = 'failed' AND CAST(sqlc.arg(without_refunds) AS BIGINT) = 0)
ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: SelectedChargesOf :many
SELECT * FROM charges WHERE merchant_id = sqlc.arg(merchant_id)
    AND id > sqlc.arg(after) AND id < sqlc.arg(before) AND created_ms >= sqlc.arg(created_from) AND created_ms < sqlc.arg(created_to)
    AND (settled_ms >= sqlc.arg(settled_from) AND settled_ms < sqlc.arg(settled_to) OR refunds > CAST(sqlc.arg(without_refunds) AS BIGINT)
        OR source = 'seller' AND status = 'failed' AND CAST(sqlc.arg(without_refunds) AS BIGINT) = 0)
ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);
