-- Messages to people that are not sent yet. A row names what its message is about; the text
-- is written when it is sent.
-- +goose Up
CREATE TABLE mails (
    kind       TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    attempts   BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    due_ms     BIGINT NOT NULL,
    PRIMARY KEY (kind, subject_id)
);
CREATE INDEX mails_due ON mails (due_ms);
