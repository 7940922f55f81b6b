-- A merchant's events have places in one stream, in the order in which they were
-- relayed. Each endpoint has come to a place; a delivery has a row only where it
-- failed, waits behind one that did, or is made again. since: where it began.
-- +goose Up
CREATE TABLE webhook_streams (
    merchant_id TEXT PRIMARY KEY,
    place       BIGINT NOT NULL
) /* clustered */;
ALTER TABLE events ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX events_stream ON events (merchant_id, place) WHERE place > 0;
ALTER TABLE webhook_endpoints ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhook_endpoints ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
