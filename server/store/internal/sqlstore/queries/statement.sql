-- name: MandateCharges :many
SELECT * FROM charges WHERE mandate_id = sqlc.arg(mandate_id) AND tab_id = '' ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: MandateHeld :one
SELECT CAST(COALESCE(SUM(amount_micros), 0) AS BIGINT) AS held FROM charges
WHERE mandate_id = sqlc.arg(mandate_id) AND status IN ('authorized', 'pending') AND (step <> '' OR tab_id <> '') AND rail = sqlc.arg(rail);

-- name: MandateVolume :one
-- What charges that were paid sum up to, without what was refunded and is owed, and with the draws whose tab has decided
-- that they are paid, and what tabs captured above their sums.
SELECT CAST((SELECT COALESCE(SUM(volume_micros - refunded_micros - owed_micros), 0) FROM tallies w WHERE w.mandate_id = sqlc.arg(mandate_id))
    - (SELECT COALESCE(SUM(owed_micros), 0) FROM tabs o WHERE o.mandate_id = sqlc.arg(mandate_id) AND o.outcome = '' AND o.counted_micros = 0)
    + (SELECT COALESCE(SUM(c.amount_micros), 0) FROM tabs t JOIN charges c ON c.tab_id = t.id AND c.tab_id <> '' AND c.status = 'authorized'
        WHERE t.mandate_id = sqlc.arg(mandate_id) AND (t.state = 'settling' AND t.outcome <> 'refused' OR t.counted_micros > 0))
    + (SELECT COALESCE(SUM(rounded_micros - owed_micros - drawn_micros), 0) FROM tabs r
        WHERE r.mandate_id = sqlc.arg(mandate_id) AND r.outcome = 'captured' AND r.rounded_micros > 0) AS BIGINT) AS volume;

-- name: Spent :many
SELECT merchant_id, day, CAST(SUM(amount_micros - refunded_micros) AS BIGINT) AS micros, COUNT(*) AS number FROM charges
WHERE mandate_id = sqlc.arg(mandate_id) AND status IN ('pending', 'authorized', 'succeeded') GROUP BY merchant_id, day ORDER BY merchant_id, day;
