-- name: ListingByKey :one
SELECT * FROM listings WHERE source = $1 AND merchant_id = $2 AND method = $3 AND url = $4;

-- name: ListingsOf :many
SELECT * FROM listings WHERE url = sqlc.arg(url) AND method = sqlc.arg(method) ORDER BY rank DESC, id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: PutListing :exec
INSERT INTO listings (id, source, merchant_id, owner, method, url, rank, low_micros, high_micros, first_ms, seen_ms, settled_ms, settlements,
    stale_ms, verified, title, description, category, protocols, pay_to, offers, input_schema, output_schema, item)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
ON CONFLICT (source, merchant_id, method, url) DO UPDATE SET owner = excluded.owner, rank = excluded.rank, low_micros = excluded.low_micros,
    high_micros = excluded.high_micros, seen_ms = excluded.seen_ms, settled_ms = excluded.settled_ms, settlements = listings.settlements + excluded.settlements,
    stale_ms = 0, verified = excluded.verified, title = excluded.title, description = excluded.description, category = excluded.category,
    protocols = excluded.protocols, pay_to = excluded.pay_to, offers = excluded.offers, input_schema = excluded.input_schema,
    output_schema = excluded.output_schema, item = excluded.item;

-- name: ListingsOfSource :many
-- Those that were added first come first, so that a page stays where it is while others are added.
SELECT * FROM listings WHERE source = sqlc.arg(source) AND stale_ms = 0
    AND (CAST(sqlc.arg(pay_to) AS TEXT) = '' OR pay_to = CAST(sqlc.arg(pay_to) AS TEXT))
ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT) OFFSET CAST(sqlc.arg(skip) AS BIGINT);

-- name: CountListingsOfSource :one
SELECT COUNT(*) FROM listings WHERE source = sqlc.arg(source) AND stale_ms = 0
    AND (CAST(sqlc.arg(pay_to) AS TEXT) = '' OR pay_to = CAST(sqlc.arg(pay_to) AS TEXT));

-- name: WordsOfListing :many
SELECT word, rank FROM listing_words WHERE listing_id = $1 ORDER BY word;

-- name: AddListingWord :exec
INSERT INTO listing_words (word, rank, listing_id) VALUES ($1, $2, $3) ON CONFLICT (word, rank, listing_id) DO NOTHING;

-- name: DeleteListingWords :exec
DELETE FROM listing_words WHERE listing_id = $1;

-- name: RankListingWords :exec
UPDATE listing_words SET rank = $2 WHERE listing_id = $1;

-- name: UnseenListings :many
SELECT id, rank, url, method FROM listings WHERE source = sqlc.arg(source) AND stale_ms = 0 AND seen_ms < sqlc.arg(before_ms)
    AND (CAST(sqlc.arg(merchant_id) AS TEXT) = '' OR merchant_id = CAST(sqlc.arg(merchant_id) AS TEXT))
    AND (CAST(sqlc.arg(owner) AS TEXT) = '' OR owner = CAST(sqlc.arg(owner) AS TEXT))
ORDER BY seen_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: MarkListingStale :execrows
-- A listing that was seen meanwhile is not stale.
UPDATE listings SET stale_ms = sqlc.arg(stale_ms), rank = sqlc.arg(rank) WHERE id = sqlc.arg(id) AND stale_ms = 0 AND seen_ms < sqlc.arg(before_ms);

-- name: StaleListings :many
SELECT id, url, method FROM listings WHERE stale_ms > 0 AND stale_ms < sqlc.arg(before_ms) ORDER BY stale_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: ListingsOfServer :many
SELECT id FROM listings WHERE source = sqlc.arg(source) AND merchant_id = sqlc.arg(merchant_id) AND owner = sqlc.arg(owner)
ORDER BY url, method LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: DeleteListing :exec
DELETE FROM listings WHERE id = $1;

-- name: CountListingWord :one
SELECT COUNT(*) FROM (SELECT 1 FROM listing_words WHERE word = sqlc.arg(word) LIMIT CAST(sqlc.arg(most) AS BIGINT)) AS found;

-- name: ListingFloor :one
-- The last row of the index that a search reads.
SELECT rank, listing_id FROM listing_words
WHERE word = sqlc.arg(word) AND (rank, listing_id) < (CAST(sqlc.arg(rank) AS BIGINT), CAST(sqlc.arg(id) AS TEXT))
ORDER BY rank DESC, listing_id DESC LIMIT 1 OFFSET CAST(sqlc.arg(depth) AS BIGINT);

-- name: SearchListings :many
SELECT sqlc.embed(l), w.rank AS word_rank FROM listing_words w JOIN listings l ON l.id = w.listing_id
WHERE w.word = sqlc.arg(word) AND (w.rank, w.listing_id) < (CAST(sqlc.arg(rank) AS BIGINT), CAST(sqlc.arg(id) AS TEXT))
    AND (w.rank, w.listing_id) >= (CAST(sqlc.arg(floor_rank) AS BIGINT), CAST(sqlc.arg(floor_id) AS TEXT))
    AND (CAST(sqlc.arg(word2) AS TEXT) = '' OR EXISTS (SELECT 1 FROM listing_words x WHERE x.word = CAST(sqlc.arg(word2) AS TEXT) AND x.rank = w.rank AND x.listing_id = w.listing_id))
    AND (CAST(sqlc.arg(word3) AS TEXT) = '' OR EXISTS (SELECT 1 FROM listing_words x WHERE x.word = CAST(sqlc.arg(word3) AS TEXT) AND x.rank = w.rank AND x.listing_id = w.listing_id))
    AND (CAST(sqlc.arg(word4) AS TEXT) = '' OR EXISTS (SELECT 1 FROM listing_words x WHERE x.word = CAST(sqlc.arg(word4) AS TEXT) AND x.rank = w.rank AND x.listing_id = w.listing_id))
    AND (CAST(sqlc.arg(word5) AS TEXT) = '' OR EXISTS (SELECT 1 FROM listing_words x WHERE x.word = CAST(sqlc.arg(word5) AS TEXT) AND x.rank = w.rank AND x.listing_id = w.listing_id))
    AND (CAST(sqlc.arg(word6) AS TEXT) = '' OR EXISTS (SELECT 1 FROM listing_words x WHERE x.word = CAST(sqlc.arg(word6) AS TEXT) AND x.rank = w.rank AND x.listing_id = w.listing_id))
    AND (CAST(sqlc.arg(low) AS BIGINT) < 0 OR l.high_micros >= CAST(sqlc.arg(low) AS BIGINT))
    AND (CAST(sqlc.arg(high) AS BIGINT) < 0 OR (l.low_micros >= 0 AND l.low_micros <= CAST(sqlc.arg(high) AS BIGINT)))
    AND NOT EXISTS (SELECT 1 FROM listings b WHERE b.url = l.url AND b.method = l.method AND (b.rank, b.id) > (l.rank, l.id))
ORDER BY w.rank DESC, w.listing_id DESC LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: AddMarketServer :execrows
INSERT INTO market_servers (id, merchant_id, base_url, created_ms, checked_ms, due_ms, failures, report)
SELECT CAST(sqlc.arg(id) AS TEXT), CAST(sqlc.arg(merchant_id) AS TEXT), CAST(sqlc.arg(base_url) AS TEXT), CAST(sqlc.arg(created_ms) AS BIGINT),
    0, CAST(sqlc.arg(due_ms) AS BIGINT), 0, ''
WHERE (SELECT COUNT(*) FROM market_servers m WHERE m.merchant_id = CAST(sqlc.arg(merchant_id) AS TEXT) AND m.base_url <> CAST(sqlc.arg(base_url) AS TEXT)) < CAST(sqlc.arg(most) AS BIGINT)
ON CONFLICT (merchant_id, base_url) DO UPDATE SET due_ms = excluded.due_ms;

-- name: MarketServerAt :one
SELECT * FROM market_servers WHERE merchant_id = $1 AND base_url = $2;

-- name: MarketServers :many
SELECT * FROM market_servers WHERE merchant_id = sqlc.arg(merchant_id) ORDER BY id LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: DueMarketServers :many
SELECT * FROM market_servers WHERE due_ms <= sqlc.arg(now_ms) ORDER BY due_ms LIMIT CAST(sqlc.arg(most) AS BIGINT);

-- name: SaveMarketServer :execrows
UPDATE market_servers SET checked_ms = $2, due_ms = $3, failures = $4, report = $5 WHERE id = $1;

-- name: MarketServer :one
SELECT * FROM market_servers WHERE id = $1 AND merchant_id = $2;

-- name: DeleteMarketServer :exec
DELETE FROM market_servers WHERE id = $1;
