-- One-time codes and web sessions. A code is derived from its id with a secret of the service, and a
-- session's token is hashed: the rows open nothing.
-- +goose Up
CREATE TABLE sign_in_codes (
    purpose    TEXT NOT NULL,
    account    TEXT NOT NULL,
    id         TEXT NOT NULL UNIQUE,
    attempts   BIGINT NOT NULL CHECK (attempts >= 0),
    sent       BIGINT NOT NULL CHECK (sent >= 0),
    since_ms   BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (purpose, account)
);
CREATE INDEX sign_in_codes_since ON sign_in_codes (since_ms);
CREATE INDEX sign_in_codes_account ON sign_in_codes (account);

CREATE TABLE web_sessions (
    hash       TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    data       BYTEA NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX web_sessions_subject ON web_sessions (kind, subject);
CREATE INDEX web_sessions_expires ON web_sessions (expires_ms);
