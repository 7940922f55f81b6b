-- Webhooks: who is told of events, and which deliveries are on their way. An event
-- is in the outbox until it is relayed; nothing of this is money state.

-- +goose Up
ALTER TABLE events ADD COLUMN relayed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX events_outbox ON events (mandate_id, seq) WHERE relayed = 0;

CREATE TABLE webhook_endpoints (
    id              TEXT PRIMARY KEY,
    merchant_id     TEXT NOT NULL,
    slot            BIGINT NOT NULL CHECK (slot BETWEEN 0 AND 15),
    url             TEXT NOT NULL,
    types           TEXT NOT NULL,
    disabled        TEXT NOT NULL,
    secret          BYTEA NOT NULL,
    former          BYTEA NOT NULL,
    former_until_ms BIGINT NOT NULL,
    failing_ms      BIGINT NOT NULL,
    failures        BIGINT NOT NULL CHECK (failures >= 0),
    pause_ms        BIGINT NOT NULL,
    wake_ms         BIGINT NOT NULL,
    wake_seq        BIGINT NOT NULL,
    lease_owner     TEXT NOT NULL,
    lease_ms        BIGINT NOT NULL,
    created_ms      BIGINT NOT NULL
);
CREATE UNIQUE INDEX webhook_endpoints_slot ON webhook_endpoints (merchant_id, slot);
CREATE INDEX webhook_endpoints_wake ON webhook_endpoints (wake_ms) WHERE disabled = '' AND wake_ms > 0;

CREATE TABLE webhook_deliveries (
    endpoint_id TEXT NOT NULL,
    event_id    TEXT NOT NULL,
    lane        TEXT NOT NULL,
    seq         BIGINT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts    BIGINT NOT NULL CHECK (attempts >= 0),
    next_ms     BIGINT NOT NULL,
    http_status BIGINT NOT NULL,
    error       TEXT NOT NULL,
    answer      TEXT NOT NULL,
    tried_ms    BIGINT NOT NULL,
    created_ms  BIGINT NOT NULL,
    PRIMARY KEY (endpoint_id, event_id)
) /* clustered */;
CREATE INDEX webhook_deliveries_queue ON webhook_deliveries (endpoint_id, lane, seq) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_retry ON webhook_deliveries (endpoint_id, next_ms) WHERE status = 'pending' AND attempts > 0;
