-- The person who confirmed a mandate reads what was paid with it.
-- +goose Up
CREATE INDEX charges_mandate ON charges (mandate_id, id);
CREATE INDEX tallies_mandate ON tallies (mandate_id);
