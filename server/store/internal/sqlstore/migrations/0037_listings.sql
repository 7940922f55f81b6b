-- What the market lists. low_micros and high_micros are -1 if the price is not known. Of several
-- listings of one method and url, which come from several sources, the one with the highest rank
-- is shown. listing_words is the index of searches; rank is repeated there, so that a page is read
-- in its order.
-- +goose Up
CREATE TABLE listings (
    id            TEXT PRIMARY KEY,
    source        TEXT NOT NULL CHECK (source <> ''),
    merchant_id   TEXT NOT NULL,
    owner         TEXT NOT NULL,
    method        TEXT NOT NULL CHECK (method <> ''),
    url           TEXT NOT NULL CHECK (url <> ''),
    rank          BIGINT NOT NULL,
    low_micros    BIGINT NOT NULL,
    high_micros   BIGINT NOT NULL,
    first_ms      BIGINT NOT NULL,
    seen_ms       BIGINT NOT NULL,
    settled_ms    BIGINT NOT NULL,
    settlements   BIGINT NOT NULL CHECK (settlements >= 0),
    stale_ms      BIGINT NOT NULL,
    verified      BIGINT NOT NULL,
    title         TEXT NOT NULL,
    description   TEXT NOT NULL,
    category      TEXT NOT NULL,
    protocols     TEXT NOT NULL,
    pay_to        TEXT NOT NULL,
    offers        TEXT NOT NULL,
    input_schema  TEXT NOT NULL,
    output_schema TEXT NOT NULL
);
CREATE UNIQUE INDEX listings_key ON listings (source, merchant_id, method, url);
CREATE INDEX listings_resource ON listings (url, method);
CREATE INDEX listings_seen ON listings (source, stale_ms, seen_ms);
CREATE INDEX listings_stale ON listings (stale_ms);

CREATE TABLE listing_words (
    word       TEXT NOT NULL,
    rank       BIGINT NOT NULL,
    listing_id TEXT NOT NULL,
    PRIMARY KEY (word, rank, listing_id)
);
CREATE INDEX listing_words_listing ON listing_words (listing_id);

-- Servers whose endpoints merchants registered. report is what the last look found, as JSON.
CREATE TABLE market_servers (
    id          TEXT PRIMARY KEY,
    merchant_id TEXT NOT NULL REFERENCES merchants (id),
    base_url    TEXT NOT NULL,
    created_ms  BIGINT NOT NULL,
    checked_ms  BIGINT NOT NULL,
    due_ms      BIGINT NOT NULL,
    failures    BIGINT NOT NULL,
    report      TEXT NOT NULL
);
CREATE UNIQUE INDEX market_servers_url ON market_servers (merchant_id, base_url);
CREATE INDEX market_servers_due ON market_servers (due_ms);
