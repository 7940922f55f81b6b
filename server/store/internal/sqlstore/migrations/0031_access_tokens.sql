-- Access tokens act for a merchant within scopes. Only their hashes are stored.
-- +goose Up
CREATE TABLE access_tokens (
    hash        TEXT PRIMARY KEY,
    id          TEXT NOT NULL,
    merchant_id TEXT NOT NULL REFERENCES merchants (id),
    mandate_id  TEXT NOT NULL,
    name        TEXT NOT NULL,
    hint        TEXT NOT NULL,
    scopes      TEXT NOT NULL CHECK (scopes <> ''),
    created_ms  BIGINT NOT NULL,
    expires_ms  BIGINT NOT NULL,
    used_ms     BIGINT NOT NULL DEFAULT 0,
    revoked_ms  BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX access_tokens_merchant ON access_tokens (merchant_id, id);
CREATE INDEX access_tokens_expires ON access_tokens (expires_ms);
