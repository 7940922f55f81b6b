-- When the person paused a mandate; 0 while it is not paused.
-- +goose Up
ALTER TABLE mandates ADD COLUMN paused_ms BIGINT NOT NULL DEFAULT 0 CHECK (paused_ms >= 0);
