-- Tabs: blocks that a card holds for draws. A draw is a charge with a tab; one that was written off is stored as
-- succeeded, because its payee was paid.
-- +goose Up
/* LOCK TABLE unwindings IN ACCESS EXCLUSIVE MODE; */
CREATE TABLE tabs (
    id             TEXT PRIMARY KEY,
    mandate_id     TEXT NOT NULL,
    merchant_id    TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('opening', 'open', 'closing', 'settling', 'closed')),
    outcome        TEXT NOT NULL CHECK (outcome IN ('', 'captured', 'voided', 'refused')),
    reason         TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    block_micros   BIGINT NOT NULL CHECK (block_micros > 0),
    owed_micros    BIGINT NOT NULL CHECK (owed_micros >= 0),
    drawn_micros   BIGINT NOT NULL CHECK (drawn_micros >= 0),
    draws          BIGINT NOT NULL,
    capture_micros BIGINT NOT NULL CHECK (capture_micros >= 0),
    processor_id   TEXT NOT NULL,
    lease_owner    TEXT NOT NULL,
    lease_ms       BIGINT NOT NULL,
    created_ms     BIGINT NOT NULL,
    closes_ms      BIGINT NOT NULL,
    closed_ms      BIGINT NOT NULL,
    CHECK (owed_micros + drawn_micros <= block_micros),
    CHECK (capture_micros <= owed_micros + drawn_micros),
    CHECK ((outcome = '') = (state IN ('opening', 'open', 'closing'))),
    CHECK ((state = 'closed') = (closed_ms <> 0))
);
CREATE UNIQUE INDEX tabs_current ON tabs (mandate_id, merchant_id) WHERE state IN ('opening', 'open');
CREATE INDEX tabs_unfinished ON tabs (mandate_id, merchant_id) WHERE state <> 'closed';
CREATE INDEX tabs_list ON tabs (merchant_id, id);
CREATE INDEX tabs_mandate ON tabs (mandate_id, id);

ALTER TABLE charges ADD COLUMN tab_id TEXT NOT NULL DEFAULT '';
ALTER TABLE charges ADD COLUMN written_off BIGINT NOT NULL DEFAULT 0;
CREATE INDEX charges_tab ON charges (tab_id, id) WHERE tab_id <> '';
DROP INDEX charges_authorized;
CREATE INDEX charges_authorized ON charges (authorized_until_ms) WHERE status = 'authorized' AND tab_id = '';
ALTER TABLE tallies ADD COLUMN owed_micros BIGINT NOT NULL DEFAULT 0 CHECK (owed_micros >= 0);

-- A tab is seen to its end by an unwinding.
CREATE TABLE unwindings_of_tabs (
    id       TEXT PRIMARY KEY,
    kind     TEXT NOT NULL CHECK (kind IN ('mandate', 'session', 'hold', 'tab')),
    since_ms BIGINT NOT NULL,
    due_ms   BIGINT NOT NULL,
    attempts BIGINT NOT NULL
) /* clustered */;
INSERT INTO unwindings_of_tabs (id, kind, since_ms, due_ms, attempts) SELECT id, kind, since_ms, due_ms, attempts FROM unwindings;
DROP TABLE unwindings;
ALTER TABLE unwindings_of_tabs RENAME TO unwindings;
CREATE INDEX unwindings_due ON unwindings (due_ms);
