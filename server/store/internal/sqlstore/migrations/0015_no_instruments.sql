-- Migration 14 has moved them to their table.
-- +goose Up
ALTER TABLE mandates DROP COLUMN instruments;
