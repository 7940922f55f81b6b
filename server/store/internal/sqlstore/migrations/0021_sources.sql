-- What the facilitator settles is a charge too. Its payer is a wallet, which stands in mandate_id.
-- +goose Up
ALTER TABLE charges ADD COLUMN source TEXT NOT NULL DEFAULT 'mandate';
