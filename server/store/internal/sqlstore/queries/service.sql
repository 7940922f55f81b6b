-- name: Service :one
SELECT * FROM service WHERE id = 1;

-- name: ClaimService :exec
INSERT INTO service (id, mode, issuer, epoch) VALUES (1, $1, $2, $3) ON CONFLICT (id) DO NOTHING;

-- name: MoveService :exec
UPDATE service SET issuer = $1 WHERE id = 1;
