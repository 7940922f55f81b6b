-- name: PutCode :execrows
INSERT INTO sign_in_codes (purpose, account, binding, id, attempts, sent, since_ms, expires_ms)
VALUES (sqlc.arg(purpose), sqlc.arg(account), sqlc.arg(binding), sqlc.arg(id), 0, 1, sqlc.arg(now_ms), sqlc.arg(expires_ms))
ON CONFLICT (purpose, account, binding) DO UPDATE SET
    id = excluded.id, attempts = 0, expires_ms = excluded.expires_ms,
    sent = CASE WHEN sign_in_codes.since_ms < CAST(sqlc.arg(window_ms) AS BIGINT) THEN 1 ELSE sign_in_codes.sent + 1 END,
    since_ms = CASE WHEN sign_in_codes.since_ms < CAST(sqlc.arg(window_ms) AS BIGINT) THEN excluded.since_ms ELSE sign_in_codes.since_ms END
WHERE sign_in_codes.since_ms < CAST(sqlc.arg(window_ms) AS BIGINT) OR sign_in_codes.sent < CAST(sqlc.arg(most) AS BIGINT);

-- name: AttemptCode :one
UPDATE sign_in_codes SET attempts = attempts + 1
WHERE purpose = sqlc.arg(purpose) AND account = sqlc.arg(account) AND binding = sqlc.arg(binding) AND attempts < sqlc.arg(most) AND expires_ms > sqlc.arg(now_ms)
RETURNING *;

-- name: UseCode :execrows
UPDATE sign_in_codes SET expires_ms = 0, sent = 0 WHERE id = $1 AND expires_ms > 0;

-- name: Code :one
SELECT * FROM sign_in_codes WHERE id = $1;

-- name: DeleteCodes :exec
DELETE FROM sign_in_codes WHERE account = sqlc.arg(account) AND (purpose = sqlc.arg(purpose) OR CAST(sqlc.arg(purpose) AS TEXT) = '');

-- name: WebSession :one
SELECT * FROM web_sessions WHERE hash = $1;

-- name: AddWebSession :exec
INSERT INTO web_sessions (hash, kind, subject, data, expires_ms) VALUES ($1, $2, $3, $4, $5);

-- name: SaveWebSession :exec
UPDATE web_sessions SET kind = $2, subject = $3, data = $4, expires_ms = $5 WHERE hash = $1;

-- name: DeleteWebSession :exec
DELETE FROM web_sessions WHERE hash = $1;

-- name: DeleteWebSessions :exec
DELETE FROM web_sessions WHERE kind = $1 AND subject = $2;

-- name: AddMandateOwner :exec
INSERT INTO mandate_owners (kind, subject, mandate_id) VALUES ($1, $2, $3) ON CONFLICT (kind, subject, mandate_id) DO NOTHING;

-- name: MandatesOfOwner :many
SELECT m.id FROM mandate_owners o JOIN mandates m ON m.id = o.mandate_id
WHERE o.kind = sqlc.arg(kind) AND o.subject = sqlc.arg(subject)
    AND (m.created_ms, m.id) < (CAST(sqlc.arg(before_ms) AS BIGINT), CAST(sqlc.arg(before) AS TEXT))
ORDER BY m.created_ms DESC, m.id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: OwnsMandate :one
SELECT count(*) FROM mandate_owners WHERE kind = $1 AND subject = $2 AND mandate_id = $3;

-- name: DeleteMandateOwner :exec
DELETE FROM mandate_owners WHERE kind = $1 AND subject = $2;
