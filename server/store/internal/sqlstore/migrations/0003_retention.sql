-- +goose Up
CREATE INDEX events_relayed ON events (created_ms) WHERE relayed = 1;
