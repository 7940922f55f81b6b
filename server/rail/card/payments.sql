-- A void that comes before its payment leaves a row without customer, method and
-- amount: the tombstone that a late payment finds. A payment is one row, written once if
-- it is captured at once: its key, and that it is captured from requires_capture
-- alone, make a second move of money under one reference impossible.
CREATE TABLE payments (
  reference    TEXT    NOT NULL PRIMARY KEY CHECK (reference <> ''),
  id           TEXT    NOT NULL,
  customer_id  TEXT    NOT NULL,
  method_id    TEXT    NOT NULL,
  payee        TEXT    NOT NULL,
  mandate      TEXT    NOT NULL,
  amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0),
  description  TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('requires_capture', 'captured', 'voided', 'declined')),
  reason       TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  captured_at  INTEGER NOT NULL,
  CHECK (amount_cents > 0 OR state = 'voided'),
  CHECK ((state = 'declined') = (reason <> '')),
  CHECK ((state = 'captured') = (captured_at <> 0))
) STRICT, WITHOUT ROWID;
