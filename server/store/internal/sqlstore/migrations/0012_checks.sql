-- How far the incremental check has come, of each mandate and in each stream of
-- events; and the work that one instance does for all.
-- +goose Up
CREATE TABLE work_leases (
    name     TEXT PRIMARY KEY,
    owner    TEXT NOT NULL,
    until_ms BIGINT NOT NULL,
    cursor   TEXT NOT NULL
) /* clustered */;
CREATE TABLE mandate_checks (
    mandate_id     TEXT PRIMARY KEY,
    seq            BIGINT NOT NULL,
    month          BIGINT NOT NULL,
    settled_micros BIGINT NOT NULL,
    revoked        BIGINT NOT NULL CHECK (revoked IN (0, 1)),
    fault          TEXT NOT NULL,
    checked_ms     BIGINT NOT NULL
) /* clustered */;
CREATE INDEX mandate_checks_faults ON mandate_checks (mandate_id) WHERE fault <> '';
CREATE TABLE stream_checks (
    merchant_id   TEXT PRIMARY KEY,
    stream_offset BIGINT NOT NULL
) /* clustered */;
