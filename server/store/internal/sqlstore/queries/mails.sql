-- name: AddMail :exec
INSERT INTO mails (kind, subject_id, attempts, created_ms, due_ms) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (kind, subject_id) DO UPDATE SET due_ms = excluded.due_ms;

-- name: HastenMail :exec
UPDATE mails SET due_ms = sqlc.arg(due_ms) WHERE kind = sqlc.arg(kind) AND subject_id = sqlc.arg(subject_id) AND attempts = 0;

-- name: DueMails :many
SELECT * FROM mails WHERE due_ms <= sqlc.arg(now_ms) ORDER BY due_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: PutOffMail :execrows
UPDATE mails SET due_ms = sqlc.arg(fresh_ms), attempts = attempts + 1
WHERE kind = sqlc.arg(kind) AND subject_id = sqlc.arg(subject_id) AND due_ms = sqlc.arg(due_ms);

-- name: DeleteMail :exec
DELETE FROM mails WHERE kind = $1 AND subject_id = $2 AND due_ms = $3;
