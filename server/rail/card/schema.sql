-- The processor's own file. Amounts are US cents, times unix milliseconds.
-- Nothing is ever deleted: a reference once used stays decided.

CREATE TABLE customers (
  reference  TEXT    NOT NULL PRIMARY KEY CHECK (reference <> ''),
  id         TEXT    NOT NULL UNIQUE,
  email      TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE methods (
  reference   TEXT    NOT NULL PRIMARY KEY CHECK (reference <> ''),
  id          TEXT    NOT NULL UNIQUE,
  customer_id TEXT    NOT NULL REFERENCES customers (id),
  card        TEXT    NOT NULL,
  brand       TEXT    NOT NULL,
  last_four   TEXT    NOT NULL CHECK (length(last_four) = 4),
  state       TEXT    NOT NULL CHECK (state IN ('connected', 'refused')),
  reason      TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  CHECK ((state = 'refused') = (reason <> ''))
) STRICT;
