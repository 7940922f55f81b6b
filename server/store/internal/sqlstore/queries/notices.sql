-- name: Notices :one
SELECT * FROM notices WHERE mandate_id = $1;

-- name: NoticesInStream :many
SELECT * FROM notices WHERE mandate_id IN (
    SELECT mandate_id FROM events WHERE merchant_id = sqlc.arg(merchant_id) AND place > sqlc.arg(after) AND place <= sqlc.arg(through)
);

-- name: PutNotices :exec
INSERT INTO notices (mandate_id, limits, above, month, mailed_month, mailed_total, day, today) VALUES ($1, $2, $3, 0, 0, 0, 0, 0)
ON CONFLICT (mandate_id) DO UPDATE SET limits = excluded.limits, above = excluded.above;

-- name: NoticesMailed :exec
UPDATE notices SET month = $2, mailed_month = $3, mailed_total = $4, day = $5, today = $6 WHERE mandate_id = $1;

-- name: DeleteNotices :exec
DELETE FROM notices WHERE mandate_id = $1;
