-- What the operator may have to advance for one payee is read when a tab is opened.
-- +goose Up
CREATE INDEX tabs_exposed ON tabs (merchant_id) WHERE state <> 'closed';
CREATE INDEX tallies_owed ON tallies (merchant_id) WHERE owed_micros > 0;
