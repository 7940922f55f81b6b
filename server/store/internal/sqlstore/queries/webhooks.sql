-- Limits, and what is compared with the column of a partial index, are cast: of a bare
-- parameter SQLite looks at the value when it prepares a statement, and then prepares
-- it again for each.

-- name: MerchantEvents :many
SELECT * FROM events
WHERE merchant_id = sqlc.arg(merchant_id) AND place > sqlc.arg(after) AND place < sqlc.arg(before) AND created_ms >= sqlc.arg(since_ms)
ORDER BY place DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: Event :one
SELECT * FROM events WHERE id = $1;

-- name: WebhookEndpoints :many
SELECT * FROM webhook_endpoints WHERE merchant_id = $1 ORDER BY created_ms, id;

-- name: WebhookEndpoint :one
SELECT * FROM webhook_endpoints WHERE id = $1;

-- name: InsertWebhookEndpoint :exec
INSERT INTO webhook_endpoints (id, merchant_id, slot, url, types, disabled, secret, former, former_until_ms, failing_ms,
    failures, pause_ms, wake_ms, wake_seq, lease_owner, lease_ms, created_ms, since, place)
VALUES ($1, $2, $3, $4, $5, '', $6, $7, 0, 0, 0, 0, 0, 0, '', 0, $8, $9, $9);

-- name: RotateWebhookSecret :execrows
UPDATE webhook_endpoints SET secret = sqlc.arg(fresh), former = secret, former_until_ms = sqlc.arg(until_ms), wake_seq = wake_seq + 1
WHERE id = sqlc.arg(id) AND secret = sqlc.arg(expected);

-- name: DisableWebhookEndpoint :execrows
UPDATE webhook_endpoints SET disabled = $2, wake_seq = wake_seq + 1 WHERE id = $1 AND disabled = '';

-- name: DeleteWebhookEndpoint :execrows
DELETE FROM webhook_endpoints WHERE id = $1;

-- name: DeleteDeliveries :execrows
DELETE FROM webhook_deliveries WHERE webhook_deliveries.endpoint_id = sqlc.arg(endpoint_id) AND webhook_deliveries.event_id IN (
    SELECT d.event_id FROM webhook_deliveries d WHERE d.endpoint_id = sqlc.arg(endpoint_id) LIMIT CAST(sqlc.arg(most) AS BIGINT)
);

-- An endpoint is free if it has no owner, whatever the clock says, or if its lease has
-- lapsed. Free ones have the time of their last release in lease_ms; those of a clock that
-- went back come first.

-- name: DueEndpoints :many
SELECT w.id FROM webhook_endpoints w
WHERE w.disabled = '' AND w.wake_ms > 0 AND w.wake_ms <= sqlc.arg(now_ms) AND (w.lease_owner = '' OR w.lease_ms <= sqlc.arg(now_ms)) AND w.pause_ms <= sqlc.arg(now_ms)
ORDER BY w.wake_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: BehindEndpoints :many
SELECT w.id FROM webhook_endpoints w JOIN webhook_streams s ON s.merchant_id = w.merchant_id
WHERE w.place < s.place AND w.disabled = '' AND (w.lease_owner = '' OR w.lease_ms <= sqlc.arg(now_ms)) AND w.pause_ms <= sqlc.arg(now_ms)
ORDER BY CASE WHEN w.lease_ms > sqlc.arg(now_ms) THEN 0 ELSE w.lease_ms END LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: WebhookNews :many
SELECT w.id, w.wake_seq, CAST(COALESCE(s.place, 0) AS BIGINT) AS place
FROM webhook_endpoints w LEFT JOIN webhook_streams s ON s.merchant_id = w.merchant_id
WHERE w.lease_owner = sqlc.arg(owner) AND w.lease_owner <> '';

-- name: ReleaseWebhookEndpoint :exec
UPDATE webhook_endpoints SET lease_owner = '', lease_ms = sqlc.arg(now_ms),
    wake_ms = CASE WHEN wake_seq = sqlc.arg(wake_seq) THEN CAST(sqlc.arg(wake_ms) AS BIGINT) ELSE sqlc.arg(now_ms) END
WHERE id = sqlc.arg(id) AND lease_owner = sqlc.arg(owner);

-- name: FreeWebhookLeases :exec
UPDATE webhook_endpoints SET lease_owner = '', lease_ms = 0, pause_ms = 0, wake_ms = 1
WHERE lease_owner <> '' OR pause_ms > sqlc.arg(now_ms) OR lease_ms > sqlc.arg(now_ms) OR wake_ms > sqlc.arg(now_ms);

-- name: BoundRetries :exec
UPDATE webhook_deliveries SET next_ms = sqlc.arg(now_ms)
WHERE status = 'pending' AND attempts > 0 AND next_ms > sqlc.arg(latest_ms);

-- name: StreamEvents :many
SELECT place, id, mandate_id, seq, type, data, created_ms FROM events
WHERE merchant_id = sqlc.arg(merchant_id) AND place > sqlc.arg(after)
ORDER BY place LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: DueLanes :many
SELECT DISTINCT d.lane FROM webhook_deliveries d
WHERE d.endpoint_id = sqlc.arg(endpoint_id) AND d.status = 'pending' AND d.lane > sqlc.arg(from_lane) AND d.lane NOT IN (
    SELECT h.lane FROM webhook_deliveries h
    WHERE h.endpoint_id = sqlc.arg(endpoint_id) AND h.status = 'pending' AND h.attempts > 0 AND h.next_ms > sqlc.arg(now_ms)
)
ORDER BY d.lane LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: RetryLanes :many
SELECT lane FROM webhook_deliveries
WHERE endpoint_id = sqlc.arg(endpoint_id) AND status = 'pending' AND attempts > 0 AND next_ms <= sqlc.arg(now_ms)
ORDER BY next_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: LaneDeliveries :many
SELECT d.event_id, d.lane, d.seq, d.attempts, d.next_ms, d.created_ms, e.mandate_id, e.merchant_id, e.type, e.data, e.created_ms AS event_ms, e.place
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
WHERE d.endpoint_id = sqlc.arg(endpoint_id) AND d.status = 'pending' AND d.lane = sqlc.arg(lane)
ORDER BY d.seq LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: NextRetry :one
SELECT CAST(COALESCE(MIN(next_ms), 0) AS BIGINT) AS next_ms FROM webhook_deliveries
WHERE endpoint_id = $1 AND status = 'pending' AND attempts > 0;

-- name: SaveDelivery :exec
INSERT INTO webhook_deliveries
    (endpoint_id, event_id, lane, seq, status, attempts, next_ms, http_status, error, answer, tried_ms, created_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (endpoint_id, event_id) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
    next_ms = excluded.next_ms, http_status = excluded.http_status, error = excluded.error, answer = excluded.answer,
    tried_ms = excluded.tried_ms
WHERE webhook_deliveries.lane = excluded.lane AND webhook_deliveries.seq = excluded.seq
    AND webhook_deliveries.attempts < excluded.attempts;

-- name: HoldsWebhookEndpoint :one
SELECT EXISTS (SELECT 1 FROM webhook_endpoints WHERE id = $1 AND lease_owner = $2) AS found;

-- name: SaveEndpoint :exec
UPDATE webhook_endpoints SET failing_ms = $2, failures = $3, pause_ms = $4, place = CASE WHEN $5 > place THEN $5 ELSE place END
WHERE id = $1 AND lease_owner = $6;

-- name: Deliveries :many
SELECT * FROM webhook_deliveries WHERE endpoint_id = sqlc.arg(endpoint_id) AND status = sqlc.arg(status) ORDER BY event_id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: EventDeliveries :many
SELECT d.* FROM webhook_endpoints w JOIN webhook_deliveries d ON d.endpoint_id = w.id AND d.event_id = sqlc.arg(event_id)
WHERE w.merchant_id = sqlc.arg(merchant_id);
