-- name: AccessToken :one
SELECT sqlc.embed(t), sqlc.embed(m) FROM access_tokens t JOIN merchants m ON m.id = t.merchant_id WHERE t.hash = $1;

-- name: AccessTokenOf :one
SELECT * FROM access_tokens WHERE merchant_id = $1 AND id = $2;

-- name: AccessTokensOf :many
SELECT * FROM access_tokens WHERE merchant_id = sqlc.arg(merchant_id) AND id < sqlc.arg(before) AND grant_id = ''
ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: ValidAccessTokens :one
SELECT COUNT(*) FROM access_tokens WHERE merchant_id = sqlc.arg(merchant_id) AND grant_id = '' AND revoked_ms = 0 AND expires_ms > sqlc.arg(now_ms);

-- name: AddAccessToken :exec
INSERT INTO access_tokens (hash, id, merchant_id, mandate_id, name, hint, scopes, created_ms, expires_ms, grant_id, resource)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: UseAccessToken :execrows
UPDATE access_tokens SET used_ms = sqlc.arg(used_ms) WHERE hash = sqlc.arg(hash) AND used_ms < sqlc.arg(used_ms);

-- name: RevokeAccessToken :execrows
UPDATE access_tokens SET revoked_ms = $3 WHERE merchant_id = $1 AND id = $2 AND revoked_ms = 0;
