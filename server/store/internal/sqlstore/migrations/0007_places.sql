-- An event gets its place in its merchant's stream in the transaction that inserts
-- it. What was still in the outbox goes to the ends of the streams.
-- +goose Up
INSERT INTO webhook_streams (merchant_id, place)
SELECT merchant_id, COUNT(*) FROM events WHERE relayed = 0 GROUP BY merchant_id
ON CONFLICT (merchant_id) DO UPDATE SET place = webhook_streams.place + excluded.place;
UPDATE events SET place = r.place FROM (
    SELECT e.id, s.place - COUNT(*) OVER (PARTITION BY e.merchant_id)
        + ROW_NUMBER() OVER (PARTITION BY e.merchant_id ORDER BY e.mandate_id, e.seq) AS place
    FROM events e JOIN webhook_streams s ON s.merchant_id = e.merchant_id WHERE e.relayed = 0
) AS r WHERE events.id = r.id;
DROP INDEX events_outbox;
DROP INDEX events_relayed;
DROP INDEX events_stream;
ALTER TABLE events DROP COLUMN relayed;
CREATE UNIQUE INDEX events_stream ON events (merchant_id, place);
CREATE INDEX events_created ON events (created_ms);
