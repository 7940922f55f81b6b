-- What a merchant limits itself to, beside the operator's limit.
-- +goose Up
ALTER TABLE merchants ADD COLUMN own_max_charge_micros BIGINT NOT NULL DEFAULT 0 CHECK (own_max_charge_micros >= 0);
