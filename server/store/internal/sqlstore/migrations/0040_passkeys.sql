-- Public keys with which merchants sign in.
-- +goose Up
CREATE TABLE passkeys (
    id         TEXT PRIMARY KEY,
    subject    TEXT NOT NULL,
    email      TEXT NOT NULL,
    name       TEXT NOT NULL,
    public_key BYTEA NOT NULL,
    flags      BIGINT NOT NULL,
    sign_count BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    used_ms    BIGINT NOT NULL DEFAULT 0,
    suspect_ms BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX passkeys_subject ON passkeys (subject, created_ms);
