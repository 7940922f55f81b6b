-- Which service the store is of.
-- +goose Up
CREATE TABLE service (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    mode   TEXT NOT NULL,
    issuer TEXT NOT NULL,
    epoch  BIGINT NOT NULL
);
