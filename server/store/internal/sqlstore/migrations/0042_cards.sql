-- The card that a person changed a mandate to, and the one that a charge or a tab began with.
-- +goose Up
ALTER TABLE mandates ADD COLUMN card TEXT NOT NULL DEFAULT '';
ALTER TABLE charges ADD COLUMN card TEXT NOT NULL DEFAULT '';
ALTER TABLE tabs ADD COLUMN card TEXT NOT NULL DEFAULT '';
