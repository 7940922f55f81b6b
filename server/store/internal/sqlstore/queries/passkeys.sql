-- name: Passkey :one
SELECT * FROM passkeys WHERE id = $1;

-- name: PasskeysOf :many
SELECT * FROM passkeys WHERE subject = $1 ORDER BY created_ms, id;

-- name: AddPasskey :exec
INSERT INTO passkeys (id, subject, email, name, public_key, flags, sign_count, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: UsePasskey :execrows
UPDATE passkeys SET flags = sqlc.arg(flags), sign_count = sqlc.arg(sign_count), used_ms = sqlc.arg(used_ms)
WHERE id = sqlc.arg(id) AND suspect_ms = 0
    AND (sign_count < sqlc.arg(sign_count) OR sign_count = 0 AND CAST(sqlc.arg(sign_count) AS BIGINT) = 0);

-- name: SuspectPasskey :execrows
UPDATE passkeys SET suspect_ms = $2 WHERE id = $1 AND suspect_ms = 0;

-- name: DeletePasskey :execrows
DELETE FROM passkeys WHERE subject = $1 AND id = $2;
