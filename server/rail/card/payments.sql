-- A void that comes before its payment leaves a row without customer, method and
-- amount: the tombstone that a late payment finds. A payment is one row, written once if
-- it is captured at once: its key, and that it is captured from requires_capture
-- alone, make a second move of money under one reference impossible.
-- refunded_cents is the sum of its refunds that are not refused: the last check makes
-- refunds of more than was captured impossible.
CREATE TABLE payments (
  reference      TEXT    NOT NULL PRIMARY KEY CHECK (reference <> ''),
  id             TEXT    NOT NULL,
  customer_id    TEXT    NOT NULL,
  method_id      TEXT    NOT NULL,
  payee          TEXT    NOT NULL,
  mandate        TEXT    NOT NULL,
  amount_cents   INTEGER NOT NULL CHECK (amount_cents >= 0),
  description    TEXT    NOT NULL,
  capture        TEXT    NOT NULL CHECK (capture IN ('', 'manual')),
  state          TEXT    NOT NULL CHECK (state IN ('requires_capture', 'captured', 'voided', 'declined')),
  reason         TEXT    NOT NULL,
  captured_cents INTEGER NOT NULL CHECK (captured_cents BETWEEN 0 AND amount_cents),
  refunded_cents INTEGER NOT NULL DEFAULT 0 CHECK (refunded_cents BETWEEN 0 AND captured_cents),
  created_at     INTEGER NOT NULL,
  captured_at    INTEGER NOT NULL,
  CHECK (amount_cents > 0 OR state = 'voided'),
  CHECK ((state = 'declined') = (reason <> '')),
  CHECK ((state = 'captured') = (captured_at <> 0)),
  CHECK ((state = 'captured') = (captured_cents > 0)),
  CHECK (captured_cents IN (0, amount_cents) OR capture = 'manual')
) STRICT, WITHOUT ROWID;
