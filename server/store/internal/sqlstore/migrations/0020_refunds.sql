-- Refunds of charges, and their sums in charges and tallies.
-- +goose Up
CREATE TABLE refunds (
    id             TEXT PRIMARY KEY,
    charge_id      TEXT NOT NULL,
    mandate_id     TEXT NOT NULL,
    merchant_id    TEXT NOT NULL,
    n              BIGINT NOT NULL,
    amount_micros  BIGINT NOT NULL CHECK (amount_micros > 0),
    reason         TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    rail           TEXT NOT NULL,
    tx_hash        TEXT NOT NULL,
    processor_id   TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    lease_owner    TEXT NOT NULL,
    lease_ms       BIGINT NOT NULL,
    asked          BIGINT NOT NULL,
    created_ms     BIGINT NOT NULL,
    settled_ms     BIGINT NOT NULL,
    CHECK ((status = 'failed') = (failure_reason <> '')),
    CHECK ((status = 'succeeded') = (settled_ms <> 0))
);
CREATE UNIQUE INDEX refunds_charge ON refunds (charge_id, n);
CREATE INDEX refunds_pending ON refunds (lease_ms) WHERE status = 'pending';
ALTER TABLE charges ADD COLUMN refunded_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE charges ADD COLUMN refunding_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE charges ADD COLUMN refunds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN refunded_micros BIGINT NOT NULL DEFAULT 0 CHECK (refunded_micros >= 0);
