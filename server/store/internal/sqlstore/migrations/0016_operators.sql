-- API keys have labels. What operators do is kept for good: rows are only ever added.
-- +goose Up
ALTER TABLE api_keys ADD COLUMN label TEXT NOT NULL DEFAULT '';
CREATE TABLE audit_log (
    id      TEXT PRIMARY KEY,
    at_ms   BIGINT NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason  TEXT NOT NULL,
    detail  TEXT NOT NULL
);
CREATE INDEX audit_log_subject ON audit_log (subject, id);
