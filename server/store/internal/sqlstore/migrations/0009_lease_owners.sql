-- The lease of a pending charge names its holder. Charges from before have none.
-- +goose Up
ALTER TABLE charges ADD COLUMN lease_owner TEXT NOT NULL DEFAULT '';
