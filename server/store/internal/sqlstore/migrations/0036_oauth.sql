-- Apps that act for a merchant by OAuth. Codes, refresh tokens and access tokens are hashed.
-- +goose Up
CREATE TABLE oauth_clients (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL CHECK (redirect_uris <> ''),
    network       TEXT NOT NULL,
    created_ms    BIGINT NOT NULL,
    expires_ms    BIGINT NOT NULL
);
CREATE INDEX oauth_clients_network ON oauth_clients (network, created_ms);
CREATE INDEX oauth_clients_expires ON oauth_clients (expires_ms);

CREATE TABLE oauth_grants (
    id           TEXT PRIMARY KEY,
    merchant_id  TEXT NOT NULL REFERENCES merchants (id),
    mandate_id   TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge    TEXT NOT NULL,
    resource     TEXT NOT NULL,
    scopes       TEXT NOT NULL CHECK (scopes <> ''),
    created_ms   BIGINT NOT NULL,
    expires_ms   BIGINT NOT NULL,
    redeemed_ms  BIGINT NOT NULL DEFAULT 0,
    used_ms      BIGINT NOT NULL DEFAULT 0,
    revoked_ms   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX oauth_grants_merchant ON oauth_grants (merchant_id, id);
CREATE INDEX oauth_grants_expires ON oauth_grants (expires_ms);

-- Codes and refresh tokens. Used ones stay, so that a second use is noticed.
CREATE TABLE oauth_secrets (
    hash       TEXT PRIMARY KEY,
    grant_id   TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('code', 'refresh')),
    expires_ms BIGINT NOT NULL,
    used_ms    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX oauth_secrets_expires ON oauth_secrets (expires_ms);

ALTER TABLE access_tokens ADD COLUMN grant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE access_tokens ADD COLUMN resource TEXT NOT NULL DEFAULT '';
CREATE INDEX access_tokens_grant ON access_tokens (grant_id, id);
