-- A checkout is a row of its own, found by the part of its id that its merchant and key decide. It is paid by the
-- charge that it names, whose status is its own. An instrument is a row of its own, which exists before a rail is
-- asked to connect it. What is left to undo of a mandate or a session is an unwinding until it is done.
-- +goose Up
CREATE TABLE checkouts (
    entropy        TEXT PRIMARY KEY,
    id             TEXT NOT NULL,
    merchant_id    TEXT NOT NULL,
    amount_micros  BIGINT NOT NULL CHECK (amount_micros > 0),
    description    TEXT NOT NULL,
    return_url     TEXT NOT NULL,
    session_hash   TEXT NOT NULL,
    charge_id      TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    created_ms     BIGINT NOT NULL,
    expires_ms     BIGINT NOT NULL,
    CHECK (charge_id = '' OR failure_reason = '')
) /* clustered */;

CREATE TABLE instruments (
    reference    TEXT PRIMARY KEY,
    session_hash TEXT NOT NULL,
    mandate_id   TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('connecting', 'connected', 'disconnecting', 'disconnected')),
    connection   TEXT NOT NULL,
    rail         TEXT NOT NULL,
    customer     TEXT NOT NULL,
    method       TEXT NOT NULL,
    brand        TEXT NOT NULL,
    last_four    TEXT NOT NULL,
    created_ms   BIGINT NOT NULL,
    changed_ms   BIGINT NOT NULL
) /* clustered */;
CREATE INDEX instruments_mandate ON instruments (mandate_id) WHERE mandate_id <> '';
CREATE INDEX instruments_session ON instruments (session_hash) WHERE session_hash <> '';

CREATE TABLE unwindings (
    id       TEXT PRIMARY KEY,
    kind     TEXT NOT NULL CHECK (kind IN ('mandate', 'session')),
    since_ms BIGINT NOT NULL,
    due_ms   BIGINT NOT NULL,
    attempts BIGINT NOT NULL
) /* clustered */;
CREATE INDEX unwindings_due ON unwindings (due_ms);
