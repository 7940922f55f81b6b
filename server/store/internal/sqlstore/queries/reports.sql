-- name: SearchFloor :one
-- The id of the oldest charge that a search reads, from the index alone.
SELECT id FROM charges WHERE merchant_id = sqlc.arg(merchant_id) AND id < sqlc.arg(before) AND id >= sqlc.arg(after)
ORDER BY id DESC LIMIT 1 OFFSET CAST(sqlc.arg(depth) AS BIGINT);

-- name: SearchCharges :many
SELECT * FROM charges WHERE merchant_id = sqlc.arg(merchant_id) AND id < sqlc.arg(before) AND id >= sqlc.arg(after)
    AND created_ms >= sqlc.arg(from_ms) AND created_ms < sqlc.arg(to_ms)
    AND (CAST(sqlc.arg(status) AS TEXT) = '' OR status = CAST(sqlc.arg(status) AS TEXT))
    AND (CAST(sqlc.arg(rail) AS TEXT) = '' OR rail = CAST(sqlc.arg(rail) AS TEXT))
    AND (CAST(sqlc.arg(reason) AS TEXT) = '' OR failure_reason = CAST(sqlc.arg(reason) AS TEXT))
    AND (CAST(sqlc.arg(reference) AS TEXT) = '' OR processor_id = CAST(sqlc.arg(reference) AS TEXT)
        OR tab_id = CAST(sqlc.arg(reference) AS TEXT) OR tx_hash = lower(CAST(sqlc.arg(reference) AS TEXT)))
ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: SearchFloorOfMandate :one
SELECT id FROM charges WHERE mandate_id = sqlc.arg(mandate_id) AND id < sqlc.arg(before) AND id >= sqlc.arg(after)
ORDER BY id DESC LIMIT 1 OFFSET CAST(sqlc.arg(depth) AS BIGINT);

-- name: SearchChargesOfMandate :many
-- The CAST keeps the planner from the index of the merchant, whose other charges may be many.
SELECT * FROM charges WHERE mandate_id = sqlc.arg(mandate_id) AND id < sqlc.arg(before) AND id >= sqlc.arg(after)
    AND CAST(merchant_id AS TEXT) || '' = CAST(sqlc.arg(merchant_id) AS TEXT)
    AND created_ms >= sqlc.arg(from_ms) AND created_ms < sqlc.arg(to_ms)
    AND (CAST(sqlc.arg(status) AS TEXT) = '' OR status = CAST(sqlc.arg(status) AS TEXT))
    AND (CAST(sqlc.arg(rail) AS TEXT) = '' OR rail = CAST(sqlc.arg(rail) AS TEXT))
    AND (CAST(sqlc.arg(reason) AS TEXT) = '' OR failure_reason = CAST(sqlc.arg(reason) AS TEXT))
    AND (CAST(sqlc.arg(reference) AS TEXT) = '' OR processor_id = CAST(sqlc.arg(reference) AS TEXT)
        OR tab_id = CAST(sqlc.arg(reference) AS TEXT) OR tx_hash = lower(CAST(sqlc.arg(reference) AS TEXT)))
ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: ChargeTotals :many
SELECT CAST(created_ms / 86400000 AS BIGINT) AS days, status, rail, failure_reason, COUNT(*) AS number,
    CAST(SUM(amount_micros) AS BIGINT) AS amount, CAST(SUM(refunded_micros) AS BIGINT) AS refunded, CAST(SUM(fee_micros) AS BIGINT) AS fees
FROM charges WHERE merchant_id = sqlc.arg(merchant_id) AND id >= sqlc.arg(after) AND id < sqlc.arg(before)
    AND created_ms >= sqlc.arg(from_ms) AND created_ms < sqlc.arg(to_ms)
GROUP BY created_ms / 86400000, status, rail, failure_reason ORDER BY days, status, rail, failure_reason;

-- name: MandateCreated :one
SELECT created_ms FROM mandates WHERE id = $1;

-- name: MandatesOf :many
SELECT * FROM mandates WHERE merchant_id = sqlc.arg(merchant_id)
    AND (created_ms, id) < (CAST(sqlc.arg(before_ms) AS BIGINT), CAST(sqlc.arg(before) AS TEXT))
ORDER BY created_ms DESC, id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: UsableMandatesOf :many
SELECT * FROM mandates WHERE merchant_id = sqlc.arg(merchant_id) AND status = 'active' AND expires_ms > sqlc.arg(now)
ORDER BY created_ms DESC, id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: MerchantsByEmail :many
SELECT * FROM merchants WHERE lower(email) = lower(CAST(sqlc.arg(email) AS TEXT)) AND email <> '' ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);
