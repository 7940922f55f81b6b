-- Each deletes a bounded number of rows, the oldest first, found by an index. Of a
-- mandate's events the first go first: what is left has no gap.

-- The key of a reversal stays: a rail may report the reversal again at any time.
-- name: ExpireIdempotency :execrows
DELETE FROM idempotency WHERE (merchant_id, kind, key) IN (
    SELECT i.merchant_id, i.kind, i.key FROM idempotency i
    WHERE i.created_ms < sqlc.arg(before_ms) AND i.kind <> 'reversal'
        AND NOT EXISTS (SELECT 1 FROM charges c WHERE c.id = i.charge_id AND c.status = 'pending')
    ORDER BY i.created_ms LIMIT sqlc.arg(page)
);

-- name: ExpireEvents :execrows
DELETE FROM events WHERE id IN (
    SELECT e.id FROM events e
    WHERE e.id < sqlc.arg(before)
        AND NOT EXISTS (
            SELECT 1 FROM events o WHERE o.mandate_id = e.mandate_id AND o.seq <= e.seq AND (o.id > e.id OR EXISTS (
                SELECT 1 FROM webhook_endpoints w JOIN webhook_deliveries d ON d.endpoint_id = w.id AND d.event_id = o.id
                WHERE w.merchant_id = o.merchant_id AND d.status = 'pending'
            ))
        )
    ORDER BY e.id LIMIT sqlc.arg(page)
);

-- name: ExpireDeliveries :execrows
DELETE FROM webhook_deliveries WHERE (endpoint_id, event_id) IN (
    SELECT d.endpoint_id, d.event_id FROM webhook_deliveries d WHERE d.created_ms < sqlc.arg(before_ms)
    ORDER BY d.created_ms LIMIT sqlc.arg(page)
);

-- name: ExpireSessions :execrows
DELETE FROM sessions WHERE hash IN (
    SELECT s.hash FROM sessions s
    WHERE s.status <> 'completed' AND (s.status <> 'completed' OR length(s.sealed_token) > 0)
        AND s.created_ms < sqlc.arg(before_ms) AND s.expires_ms < sqlc.arg(before_ms)
    ORDER BY s.created_ms LIMIT sqlc.arg(page)
);

-- name: ForgetTokens :execrows
UPDATE sessions SET sealed_token = sqlc.arg(nothing) WHERE hash IN (
    SELECT s.hash FROM sessions s
    WHERE s.status = 'completed' AND (s.status <> 'completed' OR length(s.sealed_token) > 0)
        AND s.created_ms < sqlc.arg(before_ms)
    ORDER BY s.created_ms LIMIT sqlc.arg(page)
);

-- What operators did is never deleted.
-- name: ExpireAudits :execrows
DELETE FROM audit_log WHERE id IN (
    SELECT a.id FROM audit_log a WHERE a.id < sqlc.arg(before) AND (a.actor LIKE 'merchant:%' OR a.actor LIKE 'person:%')
    ORDER BY a.id LIMIT sqlc.arg(page)
);

-- name: ExpireCodes :execrows
DELETE FROM sign_in_codes WHERE id IN (
    SELECT c.id FROM sign_in_codes c WHERE c.since_ms < sqlc.arg(before_ms) ORDER BY c.since_ms LIMIT sqlc.arg(page)
);

-- name: ExpireWebSessions :execrows
DELETE FROM web_sessions WHERE hash IN (
    SELECT s.hash FROM web_sessions s WHERE s.expires_ms < sqlc.arg(before_ms) ORDER BY s.expires_ms LIMIT sqlc.arg(page)
);

-- name: ExpireAccessTokens :execrows
DELETE FROM access_tokens WHERE hash IN (
    SELECT t.hash FROM access_tokens t WHERE t.expires_ms < sqlc.arg(before_ms) ORDER BY t.expires_ms LIMIT sqlc.arg(page)
);

-- name: ExpireOAuthClients :execrows
DELETE FROM oauth_clients WHERE id IN (
    SELECT c.id FROM oauth_clients c WHERE c.expires_ms < sqlc.arg(before_ms) ORDER BY c.expires_ms LIMIT sqlc.arg(page)
);

-- name: ExpireOAuthGrants :execrows
DELETE FROM oauth_grants WHERE id IN (
    SELECT g.id FROM oauth_grants g WHERE g.expires_ms < sqlc.arg(before_ms) ORDER BY g.expires_ms LIMIT sqlc.arg(page)
);

-- name: ExpireOAuthSecrets :execrows
DELETE FROM oauth_secrets WHERE hash IN (
    SELECT s.hash FROM oauth_secrets s WHERE s.expires_ms < sqlc.arg(before_ms) ORDER BY s.expires_ms LIMIT sqlc.arg(page)
);
