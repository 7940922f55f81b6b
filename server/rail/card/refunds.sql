-- A refused refund is a row as well: its reference stays decided. payment is the
-- payment's reference, which does not exist if the refund was refused for that.
CREATE TABLE refunds (
  reference    TEXT    NOT NULL PRIMARY KEY CHECK (reference <> ''),
  id           TEXT    NOT NULL,
  payment      TEXT    NOT NULL CHECK (payment <> ''),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  description  TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('pending', 'succeeded', 'refused')),
  reason       TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  refunded_at  INTEGER NOT NULL,
  CHECK ((state = 'refused') = (reason <> '')),
  CHECK ((state = 'succeeded') = (refunded_at <> 0))
) STRICT, WITHOUT ROWID;
