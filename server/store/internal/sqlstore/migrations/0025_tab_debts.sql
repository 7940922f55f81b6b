-- What a closing tab that captures nothing adds to the payer's debt is added when it begins to close, and not again
-- when it is decided. Programs from before would add it twice: the check stops them, and this one goes on.
-- +goose Up
ALTER TABLE tabs ADD COLUMN counted_micros BIGINT NOT NULL DEFAULT 0 CHECK (counted_micros >= 0 AND (counted_micros = 0 OR state = 'closing'));
