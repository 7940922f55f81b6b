-- The limits of a mandate's periods are rows, so that another kind of limit needs no column. A start is a
-- day in UTC as year*10000+month*100+day, with day 00 for a month, and 0 for a limit without periods.
-- A charge counts in the windows of its day; of older charges only the month is known.
-- Progress of the check is begun anew: it knew only the month.
-- Instances of before it fail from here on: they write a column that is gone.
-- +goose Up
/* LOCK TABLE mandates, charges, tallies, mandate_checks IN ACCESS EXCLUSIVE MODE; */
CREATE TABLE windows (
    mandate_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    cap        BIGINT NOT NULL,
    start_day  BIGINT NOT NULL,
    used       BIGINT NOT NULL CHECK (used BETWEEN 0 AND cap),
    PRIMARY KEY (mandate_id, kind)
) /* clustered */;
INSERT INTO windows (mandate_id, kind, cap, start_day, used)
SELECT id, 'monthly', max_monthly_micros, month * 100, spent_micros FROM mandates;
ALTER TABLE mandates DROP COLUMN month;
ALTER TABLE mandates DROP COLUMN spent_micros;
ALTER TABLE mandates ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';

ALTER TABLE charges RENAME COLUMN month TO day;
UPDATE charges SET day = day * 100;

-- A tally also has what its payee received in a month, if the mandate limits that: from the reservation on,
-- before any charge has succeeded.
CREATE TABLE tallies_of_payees (
    merchant_id   TEXT NOT NULL,
    mandate_id    TEXT NOT NULL,
    count         BIGINT NOT NULL CHECK (count >= 0),
    volume_micros BIGINT NOT NULL CHECK ((volume_micros > 0) = (count > 0)),
    start_day     BIGINT NOT NULL,
    used_micros   BIGINT NOT NULL CHECK (used_micros >= 0),
    PRIMARY KEY (merchant_id, mandate_id)
) /* clustered */;
INSERT INTO tallies_of_payees (merchant_id, mandate_id, count, volume_micros, start_day, used_micros)
SELECT merchant_id, mandate_id, count, volume_micros, 0, 0 FROM tallies;
DROP TABLE tallies;
ALTER TABLE tallies_of_payees RENAME TO tallies;
CREATE INDEX tallies_mandate ON tallies (mandate_id);

DELETE FROM mandate_checks;
ALTER TABLE mandate_checks DROP COLUMN month;
ALTER TABLE mandate_checks DROP COLUMN settled_micros;
ALTER TABLE mandate_checks ADD COLUMN settled TEXT NOT NULL DEFAULT '[]';
