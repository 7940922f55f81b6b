-- name: Charges :many
SELECT * FROM charges WHERE merchant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3;

-- name: Lapsed :many
SELECT * FROM charges WHERE status = 'pending' AND lease_ms < $1 ORDER BY lease_ms LIMIT $2;

-- name: Totals :one
SELECT CAST(COALESCE(SUM(volume_micros), 0) AS BIGINT) AS volume, CAST(COALESCE(SUM(count), 0) AS BIGINT) AS count
FROM tallies WHERE merchant_id = $1;

-- name: ActiveMandates :one
SELECT COUNT(*) FROM mandates WHERE merchant_id = $1 AND status = 'active' AND expires_ms > $2;

-- name: MandatesAfter :many
SELECT * FROM mandates WHERE id > $1 ORDER BY id LIMIT $2;

-- name: ChargesOf :many
SELECT * FROM charges WHERE mandate_id = $1;

-- name: PostingsOf :many
SELECT * FROM postings WHERE mandate_id = $1 ORDER BY charge_id, n;

-- name: TalliesOf :many
SELECT * FROM tallies WHERE mandate_id = $1;

-- name: EventsOf :many
SELECT * FROM events WHERE mandate_id = $1 ORDER BY seq;
