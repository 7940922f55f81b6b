-- +goose Up
CREATE INDEX webhook_endpoints_owner ON webhook_endpoints (lease_owner) WHERE lease_owner <> '';
