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
INSERT INTO customers VALUES ('c', 'cus_1', 'ada@example.com', 1);
INSERT INTO methods VALUES ('m', 'pm_1', 'cus_1', 'card_visa', 'Visa', '4242', 'connected', '', 1);
INSERT INTO payments VALUES ('txn_1.fiat', 'pay_1', 'cus_1', 'pm_1', 'mer_1', 'del_1', 700, 'd', 'captured', '', 1, 2);
INSERT INTO payments VALUES ('txn_2.fiat', 'pay_2', 'cus_1', 'pm_1', 'mer_1', 'del_1', 800, 'd', 'declined', 'card_declined', 1, 0);
INSERT INTO payments VALUES ('txn_3.fiat', 'pay_3', '', '', '', '', 0, '', 'voided', '', 1, 0);
INSERT INTO payments VALUES ('txn_4.fiat', 'pay_4', 'cus_1', 'pm_1', 'mer_1', 'del_1', 900, 'd', 'requires_capture', '', 1, 0);
PRAGMA user_version = 2;
