-- The people who proved an email address or a wallet when they confirmed a mandate. A row is
-- written before its mandate, which may never come into being.
-- +goose Up
CREATE TABLE mandate_owners (
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    mandate_id TEXT NOT NULL,
    PRIMARY KEY (kind, subject, mandate_id)
);
CREATE INDEX mandate_owners_mandate ON mandate_owners (mandate_id);
