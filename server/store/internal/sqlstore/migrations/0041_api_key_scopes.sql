-- What an API key permits.
-- +goose Up
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'read charge refund admin';
