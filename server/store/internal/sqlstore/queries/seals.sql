-- name: KeySeals :many
SELECT name AS place, name AS owner, sealed FROM sealed_keys
WHERE name > $1 AND length(sealed) > 0 ORDER BY name LIMIT $2;

-- name: TokenSeals :many
SELECT hash AS place, mandate_id AS owner, sealed_token AS sealed FROM sessions
WHERE hash > $1 AND length(sealed_token) > 0 ORDER BY hash LIMIT $2;

-- name: SecretSeals :many
SELECT id AS place, id AS owner, secret AS sealed FROM webhook_endpoints
WHERE id > $1 AND length(secret) > 0 ORDER BY id LIMIT $2;

-- name: FormerSeals :many
SELECT id AS place, id AS owner, former AS sealed FROM webhook_endpoints
WHERE id > $1 AND length(former) > 0 ORDER BY id LIMIT $2;

-- name: ResealKey :execrows
UPDATE sealed_keys SET sealed = sqlc.arg(fresh) WHERE name = sqlc.arg(place) AND sealed = sqlc.arg(expected);

-- name: ResealToken :execrows
UPDATE sessions SET sealed_token = sqlc.arg(fresh) WHERE hash = sqlc.arg(place) AND sealed_token = sqlc.arg(expected);

-- name: ResealSecret :execrows
UPDATE webhook_endpoints SET secret = sqlc.arg(fresh) WHERE id = sqlc.arg(place) AND secret = sqlc.arg(expected);

-- name: ResealFormer :execrows
UPDATE webhook_endpoints SET former = sqlc.arg(fresh) WHERE id = sqlc.arg(place) AND former = sqlc.arg(expected);
