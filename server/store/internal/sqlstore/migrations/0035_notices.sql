-- What a person wants to be mailed about a mandate, and what was mailed. mailed_* are the
-- highest percentage of a limit that was mailed, in month for the limit of a month; today is
-- the number of payments mailed on day.
-- +goose Up
CREATE TABLE notices (
    mandate_id    TEXT PRIMARY KEY,
    limits        BIGINT NOT NULL,
    above         BIGINT NOT NULL,
    month         BIGINT NOT NULL,
    mailed_month  BIGINT NOT NULL,
    mailed_total  BIGINT NOT NULL,
    day           BIGINT NOT NULL,
    today         BIGINT NOT NULL
);
