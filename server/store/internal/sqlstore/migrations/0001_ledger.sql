-- One schema for SQLite and PostgreSQL: TEXT ids, BIGINT micro-USD and unix
-- milliseconds (0: not yet), JSON as TEXT, BYTEA for sealed bytes. Every table of
-- money state carries mandate_id, so that it can be partitioned by it.
-- "clustered" marks narrow tables that SQLite keeps in the order of their key.

-- +goose Up
CREATE TABLE merchants (
    id                TEXT PRIMARY KEY,
    name              TEXT NOT NULL,
    website           TEXT NOT NULL,
    email             TEXT NOT NULL,
    active            BIGINT NOT NULL CHECK (active IN (0, 1)),
    max_charge_micros BIGINT NOT NULL CHECK (max_charge_micros >= 0),
    pay_to            TEXT NOT NULL,
    created_ms        BIGINT NOT NULL
);

CREATE UNIQUE INDEX merchants_wallet ON merchants (lower(pay_to)) WHERE pay_to <> '';

CREATE TABLE api_keys (
    hash        TEXT PRIMARY KEY,
    merchant_id TEXT NOT NULL,
    hint        TEXT NOT NULL,
    created_ms  BIGINT NOT NULL,
    revoked_ms  BIGINT NOT NULL
);
CREATE INDEX api_keys_merchant ON api_keys (merchant_id);

CREATE TABLE sealed_keys (
    name       TEXT PRIMARY KEY,
    state      TEXT NOT NULL,
    public     BYTEA NOT NULL,
    sealed     BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);

CREATE TABLE sessions (
    hash               TEXT PRIMARY KEY,
    merchant_id        TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'failed')),
    failure_reason     TEXT NOT NULL,
    max_per_tx_micros  BIGINT NOT NULL CHECK (max_per_tx_micros > 0),
    max_monthly_micros BIGINT NOT NULL CHECK (max_monthly_micros >= max_per_tx_micros),
    rails              TEXT NOT NULL,
    payees             TEXT NOT NULL,
    mandate_expires_ms BIGINT NOT NULL,
    return_url         TEXT NOT NULL,
    metadata           TEXT NOT NULL,
    attempts           BIGINT NOT NULL CHECK (attempts >= 0),
    mandate_id         TEXT NOT NULL,
    sealed_token       BYTEA NOT NULL,
    created_ms         BIGINT NOT NULL,
    expires_ms         BIGINT NOT NULL,
    CHECK ((status = 'completed') = (mandate_id <> ''))
);
-- What retention has still to do: delete the unfinished, clear the tokens.
CREATE INDEX sessions_kept ON sessions (created_ms) WHERE status <> 'completed' OR length(sealed_token) > 0;

CREATE TABLE mandates (
    id                 TEXT PRIMARY KEY,
    merchant_id        TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
    revoked_by         TEXT NOT NULL,
    revoked_ms         BIGINT NOT NULL,
    max_per_tx_micros  BIGINT NOT NULL CHECK (max_per_tx_micros > 0),
    max_monthly_micros BIGINT NOT NULL CHECK (max_monthly_micros >= max_per_tx_micros),
    rails              TEXT NOT NULL,
    payees             TEXT NOT NULL,
    expires_ms         BIGINT NOT NULL,
    month              BIGINT NOT NULL,
    spent_micros       BIGINT NOT NULL CHECK (spent_micros BETWEEN 0 AND max_monthly_micros),
    instruments        TEXT NOT NULL,
    email              TEXT NOT NULL,
    event_seq          BIGINT NOT NULL,
    created_ms         BIGINT NOT NULL
);
CREATE INDEX mandates_active ON mandates (merchant_id, expires_ms) WHERE status = 'active';

CREATE TABLE charges (
    id             TEXT PRIMARY KEY,
    mandate_id     TEXT NOT NULL,
    merchant_id    TEXT NOT NULL,
    pay_to         TEXT NOT NULL,
    amount_micros  BIGINT NOT NULL CHECK (amount_micros > 0),
    fee_micros     BIGINT NOT NULL CHECK (fee_micros >= 0),
    currency       TEXT NOT NULL,
    description    TEXT NOT NULL,
    metadata       TEXT NOT NULL,
    rails          TEXT NOT NULL,
    month          BIGINT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    rail           TEXT NOT NULL,
    tx_hash        TEXT NOT NULL,
    processor_id   TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    lease_ms       BIGINT NOT NULL,
    asked          BIGINT NOT NULL,
    created_ms     BIGINT NOT NULL,
    settled_ms     BIGINT NOT NULL,
    CHECK ((status = 'failed') = (failure_reason <> '')),
    CHECK ((status = 'succeeded') = (settled_ms <> 0))
);
CREATE INDEX charges_list ON charges (merchant_id, id);
CREATE INDEX charges_pending ON charges (lease_ms) WHERE status = 'pending';

CREATE TABLE idempotency (
    merchant_id TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    charge_id   TEXT NOT NULL,
    refusal     TEXT NOT NULL,
    created_ms  BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, key),
    CHECK ((charge_id = '') <> (refusal = ''))
) /* clustered */;
CREATE INDEX idempotency_created ON idempotency (created_ms);

CREATE TABLE postings (
    charge_id     TEXT NOT NULL,
    n             BIGINT NOT NULL,
    mandate_id    TEXT NOT NULL,
    from_account  TEXT NOT NULL,
    to_account    TEXT NOT NULL,
    amount_micros BIGINT NOT NULL CHECK (amount_micros > 0),
    at_ms         BIGINT NOT NULL,
    PRIMARY KEY (charge_id, n),
    CHECK (from_account <> to_account)
) /* clustered */;

CREATE TABLE tallies (
    merchant_id   TEXT NOT NULL,
    mandate_id    TEXT NOT NULL,
    count         BIGINT NOT NULL CHECK (count > 0),
    volume_micros BIGINT NOT NULL CHECK (volume_micros > 0),
    PRIMARY KEY (merchant_id, mandate_id)
) /* clustered */;

CREATE TABLE events (
    id          TEXT PRIMARY KEY,
    mandate_id  TEXT NOT NULL,
    seq         BIGINT NOT NULL,
    merchant_id TEXT NOT NULL,
    type        TEXT NOT NULL,
    data        TEXT NOT NULL,
    created_ms  BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_mandate ON events (mandate_id, seq);
CREATE INDEX events_merchant ON events (merchant_id, id);
