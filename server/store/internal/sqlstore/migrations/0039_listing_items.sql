-- The entry of a listing in the facilitator's catalog, as JSON. Empty for other sources.
-- +goose Up
ALTER TABLE listings ADD COLUMN item TEXT NOT NULL DEFAULT '';
CREATE INDEX listings_catalog ON listings (source, id);
