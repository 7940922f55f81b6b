-- name: InstrumentsOfMandate :many
SELECT * FROM instruments WHERE mandate_id = $1 AND mandate_id <> '' ORDER BY reference;

-- name: InstrumentsOfSession :many
SELECT * FROM instruments WHERE session_hash = $1 AND session_hash <> '' ORDER BY reference;

-- name: DueUnwindings :many
SELECT * FROM unwindings WHERE due_ms <= sqlc.arg(now_ms) ORDER BY due_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: PutOffUnwinding :execrows
UPDATE unwindings SET due_ms = sqlc.arg(fresh_ms), since_ms = sqlc.arg(since_ms), attempts = sqlc.arg(attempts)
WHERE id = sqlc.arg(id) AND due_ms = sqlc.arg(due_ms);

-- name: EndUnwinding :execrows
DELETE FROM unwindings WHERE id = $1 AND due_ms = $2;

-- name: UnwindingBacklog :one
SELECT COUNT(*) AS count, CAST(COALESCE(MIN(since_ms), 0) AS BIGINT) AS oldest_ms FROM unwindings WHERE since_ms <= sqlc.arg(now_ms);
