-- A merchant's mandates, newest first: the random part of their ids says nothing about time.
-- +goose Up
CREATE INDEX mandates_created ON mandates (merchant_id, created_ms, id);
DROP INDEX mandates_merchant;
