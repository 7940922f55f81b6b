-- A code belongs to what asked for it, such as a browser, so that a stranger neither replaces it nor
-- uses up its attempts. Codes live for ten minutes: those of before are asked for again.
-- +goose Up
DROP TABLE sign_in_codes;
CREATE TABLE sign_in_codes (
    purpose    TEXT NOT NULL,
    account    TEXT NOT NULL,
    binding    TEXT NOT NULL,
    id         TEXT NOT NULL UNIQUE,
    attempts   BIGINT NOT NULL CHECK (attempts >= 0),
    sent       BIGINT NOT NULL CHECK (sent >= 0),
    since_ms   BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (purpose, account, binding)
);
CREATE INDEX sign_in_codes_since ON sign_in_codes (since_ms);
CREATE INDEX sign_in_codes_account ON sign_in_codes (account);
