-- name: AddOAuthClient :execrows
INSERT INTO oauth_clients (id, name, redirect_uris, network, created_ms, expires_ms)
SELECT CAST(sqlc.arg(id) AS TEXT), CAST(sqlc.arg(name) AS TEXT), CAST(sqlc.arg(redirect_uris) AS TEXT), CAST(sqlc.arg(network) AS TEXT),
    CAST(sqlc.arg(created_ms) AS BIGINT), CAST(sqlc.arg(expires_ms) AS BIGINT)
WHERE (SELECT COUNT(*) FROM oauth_clients c WHERE c.network = CAST(sqlc.arg(network) AS TEXT) AND c.created_ms > CAST(sqlc.arg(since_ms) AS BIGINT)) < CAST(sqlc.arg(most) AS BIGINT);

-- name: OAuthClient :one
SELECT * FROM oauth_clients WHERE id = $1;

-- name: KeepOAuthClient :exec
UPDATE oauth_clients SET expires_ms = sqlc.arg(expires_ms)
WHERE id = (SELECT g.client_id FROM oauth_grants g WHERE g.id = sqlc.arg(grant_id)) AND expires_ms < sqlc.arg(expires_ms);

-- name: AddOAuthGrant :exec
INSERT INTO oauth_grants (id, merchant_id, mandate_id, client_id, client_name, redirect_uri, challenge, resource, scopes, created_ms, expires_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: AddOAuthSecret :exec
INSERT INTO oauth_secrets (hash, grant_id, kind, expires_ms) VALUES ($1, $2, $3, $4);

-- name: OAuthSecret :one
SELECT sqlc.embed(s), sqlc.embed(g) FROM oauth_secrets s JOIN oauth_grants g ON g.id = s.grant_id WHERE s.hash = $1;

-- name: OAuthGrant :one
SELECT * FROM oauth_grants WHERE id = $1;

-- name: UseOAuthSecret :execrows
UPDATE oauth_secrets SET used_ms = $2 WHERE hash = $1 AND used_ms = 0;

-- The row is locked until the end of the transaction: a grant is either revoked before, or its
-- revocation finds the token that is about to be added.
-- name: UseOAuthGrant :execrows
UPDATE oauth_grants SET
    used_ms = CAST(sqlc.arg(now_ms) AS BIGINT), expires_ms = sqlc.arg(expires_ms),
    redeemed_ms = CASE WHEN redeemed_ms = 0 THEN CAST(sqlc.arg(now_ms) AS BIGINT) ELSE redeemed_ms END
WHERE id = sqlc.arg(id) AND revoked_ms = 0;

-- name: TrimAccessTokens :exec
DELETE FROM access_tokens WHERE access_tokens.grant_id = sqlc.arg(grant_id) AND access_tokens.id NOT IN (
    SELECT t.id FROM access_tokens t WHERE t.grant_id = sqlc.arg(grant_id) ORDER BY t.id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT)
);

-- name: OAuthGrantsOf :many
SELECT sqlc.embed(g), CAST(COALESCE((SELECT MAX(t.used_ms) FROM access_tokens t WHERE t.grant_id = g.id), 0) AS BIGINT) AS token_used_ms
FROM oauth_grants g
WHERE g.merchant_id = sqlc.arg(merchant_id) AND g.redeemed_ms > 0 AND g.expires_ms > sqlc.arg(now_ms)
ORDER BY g.id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: RevokeOAuthGrant :execrows
UPDATE oauth_grants SET revoked_ms = sqlc.arg(now_ms), expires_ms = sqlc.arg(now_ms)
WHERE id = sqlc.arg(id) AND merchant_id = sqlc.arg(merchant_id) AND revoked_ms = 0;

-- name: RevokeAccessTokensOfGrant :exec
UPDATE access_tokens SET revoked_ms = $2 WHERE grant_id = $1 AND revoked_ms = 0;
