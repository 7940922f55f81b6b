-- name: TakeWork :many
INSERT INTO work_leases (name, owner, until_ms, cursor) VALUES (sqlc.arg(name), sqlc.arg(owner), sqlc.arg(until_ms), '')
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms
WHERE work_leases.owner = excluded.owner OR work_leases.until_ms <= CAST(sqlc.arg(now_ms) AS BIGINT)
RETURNING cursor;

-- name: LeaveWork :exec
UPDATE work_leases SET until_ms = 0, cursor = $3 WHERE name = $1 AND owner = $2;

-- name: UncheckedStreams :many
SELECT s.merchant_id, s.place AS stream_end, CAST(COALESCE(c.stream_offset, 0) AS BIGINT) AS stream_offset
FROM webhook_streams s LEFT JOIN stream_checks c ON c.merchant_id = s.merchant_id
WHERE s.merchant_id > sqlc.arg(after) AND s.place > COALESCE(c.stream_offset, 0)
ORDER BY s.merchant_id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: StreamMandates :many
SELECT place, mandate_id FROM events WHERE merchant_id = sqlc.arg(merchant_id) AND place > sqlc.arg(after)
ORDER BY place LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: MandatesAfter :many
SELECT id FROM mandates WHERE id > sqlc.arg(after) ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: FaultyMandates :many
SELECT mandate_id FROM mandate_checks WHERE fault <> '' ORDER BY mandate_id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- A capture may begin days after its charge was made, and counts from then only if recovery
-- has asked its rail more than ten times; before that it counts from its lease.
-- name: Backlog :one
SELECT COUNT(*) AS pending, CAST(COALESCE(MIN(CASE WHEN step = 'capture' AND asked <= 10 THEN lease_ms ELSE created_ms END), 0) AS BIGINT) AS oldest_ms FROM charges WHERE status = 'pending';
