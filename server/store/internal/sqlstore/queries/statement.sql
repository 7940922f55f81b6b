-- name: MandateCharges :many
SELECT * FROM charges WHERE mandate_id = sqlc.arg(mandate_id) AND tab_id = '' ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: MandateHeld :one
SELECT CAST(COALESCE(SUM(amount_micros), 0) AS BIGINT) AS held FROM charges
WHERE mandate_id = sqlc.arg(mandate_id) AND status IN ('authorized', 'pending') AND (step <> '' OR tab_id <> '') AND rail = sqlc.arg(rail);

-- name: MandateVolume :one
SELECT CAST(COALESCE(SUM(volume_micros - refunded_micros), 0) AS BIGINT) AS volume FROM tallies WHERE mandate_id = $1;
