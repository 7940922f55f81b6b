-- +goose Up
CREATE INDEX webhook_deliveries_created ON webhook_deliveries (created_ms);
