-- name: Merchant :one
SELECT * FROM merchants WHERE id = $1;

-- name: MerchantByKey :one
SELECT m.* FROM api_keys k JOIN merchants m ON m.id = k.merchant_id WHERE k.hash = $1 AND k.revoked_ms = 0;

-- name: MerchantByWallet :one
SELECT * FROM merchants WHERE lower(pay_to) = lower($1) AND pay_to <> '';

-- name: PutMerchant :exec
INSERT INTO merchants (id, name, website, email, active, max_charge_micros, pay_to, created_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, website = excluded.website, email = excluded.email,
    active = excluded.active, max_charge_micros = excluded.max_charge_micros, pay_to = excluded.pay_to;

-- name: APIKey :one
SELECT * FROM api_keys WHERE hash = $1;

-- name: PutAPIKey :exec
INSERT INTO api_keys (hash, merchant_id, hint, created_ms, revoked_ms)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (hash) DO UPDATE SET revoked_ms = excluded.revoked_ms;

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
