-- An idempotency key has a kind, which no caller can choose. Keys of earlier versions carry the kind as a
-- prefix, which a merchant could spell too: those rows are kept under both readings, so that no
-- repeated request is charged again.
-- charges.attempt counts the rails that the ledger has allowed a charge to ask. An older pending charge may
-- have asked both. charges.resource is what a paywall's charge paid for; receipts are found by the transaction.
-- +goose Up
CREATE TABLE idempotency_kinds (
    merchant_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    charge_id   TEXT NOT NULL,
    refusal     TEXT NOT NULL,
    created_ms  BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, kind, key),
    CHECK ((charge_id = '') <> (refusal = ''))
) /* clustered */;
INSERT INTO idempotency_kinds (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT merchant_id, 'charge', key, fingerprint, charge_id, refusal, created_ms FROM idempotency;
INSERT INTO idempotency_kinds (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT merchant_id, 'checkout', substr(key, 10), fingerprint, charge_id, refusal, created_ms FROM idempotency WHERE substr(key, 1, 9) = 'checkout:';
INSERT INTO idempotency_kinds (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT merchant_id, 'paywall', substr(key, 9), fingerprint, charge_id, refusal, created_ms FROM idempotency WHERE substr(key, 1, 8) = 'paywall:';
INSERT INTO idempotency_kinds (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT merchant_id, 'presentation', substr(key, 14), fingerprint, charge_id, refusal, created_ms FROM idempotency WHERE substr(key, 1, 13) = 'presentation:';
INSERT INTO idempotency_kinds (merchant_id, kind, key, fingerprint, charge_id, refusal, created_ms)
SELECT merchant_id, 'receipt', substr(key, 9), fingerprint, charge_id, refusal, created_ms FROM idempotency WHERE substr(key, 1, 8) = 'receipt:';
DROP TABLE idempotency;
ALTER TABLE idempotency_kinds RENAME TO idempotency;
CREATE INDEX idempotency_created ON idempotency (created_ms);

ALTER TABLE charges ADD COLUMN attempt BIGINT NOT NULL DEFAULT 1;
UPDATE charges SET attempt = 2 WHERE status = 'pending';
ALTER TABLE charges ADD COLUMN resource TEXT NOT NULL DEFAULT '';
CREATE INDEX charges_tx_hash ON charges (tx_hash) WHERE resource <> '' AND tx_hash <> '';
CREATE INDEX charges_processor_id ON charges (processor_id) WHERE resource <> '' AND processor_id <> '';

-- Outcomes that a rail reported after another one had decided the charge.
CREATE TABLE outcome_conflicts (
    charge_id    TEXT NOT NULL,
    rail         TEXT NOT NULL,
    status       TEXT NOT NULL,
    reason       TEXT NOT NULL,
    tx_hash      TEXT NOT NULL,
    processor_id TEXT NOT NULL,
    at_ms        BIGINT NOT NULL,
    PRIMARY KEY (charge_id, rail, status, tx_hash, processor_id)
) /* clustered */;
