-- Charges in two steps: an amount is authorized, and captured or voided later. The status has two more values,
-- which no engine can add to a check: the rows move to a new table.
-- +goose Up
/* LOCK TABLE charges, unwindings IN ACCESS EXCLUSIVE MODE; */
CREATE TABLE charges_in_steps (
    id                   TEXT PRIMARY KEY,
    mandate_id           TEXT NOT NULL,
    merchant_id          TEXT NOT NULL,
    pay_to               TEXT NOT NULL,
    amount_micros        BIGINT NOT NULL CHECK (amount_micros > 0),
    fee_micros           BIGINT NOT NULL CHECK (fee_micros >= 0),
    currency             TEXT NOT NULL,
    description          TEXT NOT NULL,
    metadata             TEXT NOT NULL,
    rails                TEXT NOT NULL,
    day                  BIGINT NOT NULL,
    status               TEXT NOT NULL CHECK (status IN ('pending', 'authorized', 'succeeded', 'failed', 'voided')),
    rail                 TEXT NOT NULL,
    tx_hash              TEXT NOT NULL,
    processor_id         TEXT NOT NULL,
    failure_reason       TEXT NOT NULL,
    lease_ms             BIGINT NOT NULL,
    asked                BIGINT NOT NULL,
    created_ms           BIGINT NOT NULL,
    settled_ms           BIGINT NOT NULL,
    lease_owner          TEXT NOT NULL DEFAULT '',
    attempt              BIGINT NOT NULL DEFAULT 1,
    resource             TEXT NOT NULL DEFAULT '',
    step                 TEXT NOT NULL DEFAULT '' CHECK (step IN ('', 'authorize', 'capture')),
    authorized_micros    BIGINT NOT NULL DEFAULT 0,
    authorized_until_ms  BIGINT NOT NULL DEFAULT 0,
    usage                TEXT NOT NULL DEFAULT '',
    CHECK ((status = 'failed') = (failure_reason <> '')),
    CHECK ((status = 'succeeded') = (settled_ms <> 0)),
    CHECK ((step = '') = (authorized_micros = 0)),
    CHECK (step = '' OR amount_micros <= authorized_micros)
);
INSERT INTO charges_in_steps (id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description, metadata, rails,
    day, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner, attempt, resource)
SELECT id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description, metadata, rails,
    day, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner, attempt, resource
FROM charges;
DROP TABLE charges;
ALTER TABLE charges_in_steps RENAME TO charges;
CREATE INDEX charges_list ON charges (merchant_id, id);
CREATE INDEX charges_pending ON charges (lease_ms) WHERE status = 'pending';
CREATE INDEX charges_authorized ON charges (authorized_until_ms) WHERE status = 'authorized';
CREATE INDEX charges_tx_hash ON charges (tx_hash) WHERE resource <> '' AND tx_hash <> '';
CREATE INDEX charges_processor_id ON charges (processor_id) WHERE resource <> '' AND processor_id <> '';
CREATE INDEX charges_mandate ON charges (mandate_id, id);

-- What a voided charge holds at its processor is unwound too.
CREATE TABLE unwindings_of_holds (
    id       TEXT PRIMARY KEY,
    kind     TEXT NOT NULL CHECK (kind IN ('mandate', 'session', 'hold')),
    since_ms BIGINT NOT NULL,
    due_ms   BIGINT NOT NULL,
    attempts BIGINT NOT NULL
) /* clustered */;
INSERT INTO unwindings_of_holds (id, kind, since_ms, due_ms, attempts) SELECT id, kind, since_ms, due_ms, attempts FROM unwindings;
DROP TABLE unwindings;
ALTER TABLE unwindings_of_holds RENAME TO unwindings;
CREATE INDEX unwindings_due ON unwindings (due_ms);
