-- name: Merchant :one
SELECT * FROM merchants WHERE id = $1;

-- name: ValidAPIKey :one
SELECT sqlc.embed(k), sqlc.embed(m) FROM api_keys k JOIN merchants m ON m.id = k.merchant_id WHERE k.hash = $1 AND k.revoked_ms = 0;

-- name: MerchantByWallet :one
SELECT * FROM merchants WHERE lower(pay_to) = lower($1) AND pay_to <> '';

-- name: PutMerchant :exec
INSERT INTO merchants (id, name, website, email, active, max_charge_micros, pay_to, created_ms, own_max_charge_micros)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, website = excluded.website, email = excluded.email,
    active = excluded.active, max_charge_micros = excluded.max_charge_micros, pay_to = excluded.pay_to, own_max_charge_micros = excluded.own_max_charge_micros;

-- name: Merchants :many
SELECT * FROM merchants WHERE id > sqlc.arg(after) ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: SetMerchantProfile :execrows
UPDATE merchants SET name = $2, website = $3, own_max_charge_micros = $4 WHERE id = $1;

-- name: SetMerchantEmail :execrows
UPDATE merchants SET email = $2 WHERE id = $1;

-- name: SetMerchantWallet :execrows
UPDATE merchants SET pay_to = $2 WHERE id = $1;

-- name: SetMerchantActive :execrows
UPDATE merchants SET active = $2 WHERE id = $1;

-- name: SetMerchantLimit :execrows
UPDATE merchants SET max_charge_micros = $2 WHERE id = $1;

-- name: APIKeysOf :many
SELECT * FROM api_keys WHERE merchant_id = $1 ORDER BY created_ms, hash;

-- name: APIKeysBetween :many
SELECT * FROM api_keys WHERE hash >= sqlc.arg(low) AND hash <= sqlc.arg(high) ORDER BY hash LIMIT 2;

-- name: AddAPIKey :exec
INSERT INTO api_keys (hash, merchant_id, hint, created_ms, revoked_ms, label, scopes) VALUES ($1, $2, $3, $4, 0, $5, $6);

-- name: RevokeAPIKey :execrows
UPDATE api_keys SET revoked_ms = $2 WHERE hash = $1 AND revoked_ms = 0;

-- name: AddAudit :exec
INSERT INTO audit_log (id, at_ms, actor, action, subject, reason, detail) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: AuditLog :many
-- actor selects one actor, and from and to the actors of a kind; empty: all.
SELECT * FROM audit_log WHERE id < sqlc.arg(before)
    AND (CAST(sqlc.arg(actor) AS TEXT) = '' OR actor = sqlc.arg(actor) OR actor >= sqlc.arg(kind_from) AND actor < sqlc.arg(kind_to))
ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: AuditOf :many
SELECT * FROM audit_log WHERE subject = sqlc.arg(subject) ORDER BY id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: SealedKeys :many
SELECT * FROM sealed_keys WHERE name >= $1 AND name < $2 ORDER BY created_ms, name;

-- name: AddSealedKey :execrows
INSERT INTO sealed_keys (name, state, public, sealed, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO NOTHING;

-- name: PutSealedKey :exec
INSERT INTO sealed_keys (name, state, public, sealed, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO UPDATE SET state = excluded.state, sealed = excluded.sealed, changed_ms = excluded.changed_ms;

-- name: DeleteSealedKey :exec
DELETE FROM sealed_keys WHERE name = $1;
