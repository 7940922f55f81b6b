-- A tab whose sum is below what a card pays may capture that minimum. Programs from before see that it captures
-- nothing, and write its draws off.
-- +goose Up
ALTER TABLE tabs ADD COLUMN rounded_micros BIGINT NOT NULL DEFAULT 0 CHECK (rounded_micros >= 0 AND (rounded_micros = 0 OR capture_micros = 0));
