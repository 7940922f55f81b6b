package card

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// The statements. They store and find. All decisions are made in machine.go.
const (
	customerByReference = `SELECT reference, email, id, created_at FROM customers WHERE reference = ?`
	customerExists      = `SELECT EXISTS (SELECT 1 FROM customers WHERE id = ?)`
	insertCustomer      = `INSERT INTO customers (reference, email, id, created_at) VALUES (?, ?, ?, ?)`

	methodColumns     = `SELECT reference, customer_id, card, id, brand, last_four, state, reason, created_at FROM methods `
	methodByReference = methodColumns + `WHERE reference = ?`
	methodByID        = methodColumns + `WHERE id = ?`
	insertMethod      = `INSERT INTO methods (reference, customer_id, card, id, brand, last_four, state, reason, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	paymentByReference = `SELECT reference, customer_id, method_id, payee, mandate, amount_cents, description, capture,
		id, state, reason, captured_cents, refunded_cents, created_at, captured_at FROM payments WHERE reference = ?`
	// A reference that was used before keeps what it was used for.
	insertPayment = `INSERT INTO payments (reference, customer_id, method_id, payee, mandate, amount_cents, description, capture,
		id, state, reason, captured_cents, created_at, captured_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (reference) DO NOTHING`
	// The state it must have is part of the question: a payment leaves requires_capture once.
	updatePayment = `UPDATE payments SET state = ?, reason = ?, captured_cents = ?, captured_at = ?
		WHERE reference = ? AND state = 'requires_capture'`
	// What was refunded before is part of the question, as the state is above.
	updateRefunded = `UPDATE payments SET refunded_cents = ? WHERE reference = ? AND refunded_cents = ?`

	refundByReference = `SELECT reference, payment, amount_cents, description, id, state, reason, created_at, refunded_at
		FROM refunds WHERE reference = ?`
	insertRefund = `INSERT INTO refunds (reference, payment, amount_cents, description, id, state, reason, created_at, refunded_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateRefund = `UPDATE refunds SET state = ?, refunded_at = ? WHERE reference = ? AND state = 'pending'`

	// The sums are a check for people and drills; nothing is decided by them.
	sumPayments = `SELECT count(*) FILTER (WHERE state = 'captured'), coalesce(sum(captured_cents), 0),
		coalesce(sum(amount_cents) FILTER (WHERE state = 'requires_capture' AND capture = 'manual'), 0) FROM payments`
	sumRefunds = `SELECT count(*), coalesce(sum(amount_cents), 0) FROM refunds WHERE state = 'succeeded'`

	begin    = `BEGIN IMMEDIATE`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
)

// prepared holds the writer's statements. They keep its connection open until they are
// closed.
type prepared map[string]*sql.Stmt

func prepare(ctx context.Context, conn *sql.Conn) (prepared, error) {
	all := prepared{}
	for _, query := range [...]string{
		customerByReference, customerExists, insertCustomer, methodByReference, methodByID, insertMethod,
		paymentByReference, insertPayment, updatePayment, updateRefunded,
		refundByReference, insertRefund, updateRefund, begin, commit, rollback,
	} {
		stmt, err := conn.PrepareContext(ctx, query) //nolint:sqlclosecheck // close does
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", query, err), all.close())
		}
		all[query] = stmt
	}
	return all, nil
}

func (p prepared) close() error {
	var err error
	for _, stmt := range p {
		err = errors.Join(err, stmt.Close())
	}
	return err
}

// transaction is one batch's transaction. Its first error of the database sticks
// in broken: the whole batch is given up then, whatever its jobs make of it.
type transaction struct {
	prepared prepared
	broken   error
}

func (t *transaction) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.prepared[query].ExecContext(ctx, args...)
	if err != nil {
		return 0, t.fail(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, t.fail(err)
	}
	return n, nil
}

// find reads one row, and reports whether there is one.
func (t *transaction) find(ctx context.Context, query, key string, scan func(row) error) (bool, error) {
	err := scan(t.prepared[query].QueryRowContext(ctx, key))
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, t.fail(err)
	}
	return true, nil
}

func (t *transaction) fail(err error) error {
	if t.broken == nil {
		t.broken = fmt.Errorf("use database: %w", err)
	}
	return t.broken
}

func (t *transaction) findPayment(ctx context.Context, reference string) (p Payment, found bool, err error) {
	found, err = t.find(ctx, paymentByReference, reference, func(r row) error { return scanPayment(r, &p) })
	return p, found, err
}

func (t *transaction) findMethod(ctx context.Context, reference string) (m Method, found bool, err error) {
	found, err = t.find(ctx, methodByReference, reference, func(r row) error { return scanMethod(r, &m) })
	return m, found, err
}

// cardOf returns the card of a payment, or the zero card if it has none.
func (t *transaction) cardOf(ctx context.Context, p Payment) (sandboxCard, error) {
	var m Method
	_, err := t.find(ctx, methodByID, p.Method, func(r row) error { return scanMethod(r, &m) })
	card, _ := cardNamed(m.Card)
	return card, err
}

func (t *transaction) findCustomer(ctx context.Context, reference string) (c Customer, found bool, err error) {
	found, err = t.find(ctx, customerByReference, reference, func(r row) error {
		return r.Scan(&c.Reference, &c.Email, &c.ID, &c.CreatedAtMillis)
	})
	return c, found, err
}

func (t *transaction) hasCustomer(ctx context.Context, id string) (exists bool, err error) {
	_, err = t.find(ctx, customerExists, id, func(r row) error { return r.Scan(&exists) })
	return exists, err
}

func (t *transaction) addCustomer(ctx context.Context, c Customer) error {
	_, err := t.exec(ctx, insertCustomer, c.Reference, c.Email, c.ID, c.CreatedAtMillis)
	return err
}

func (t *transaction) addMethod(ctx context.Context, m Method) error {
	_, err := t.exec(ctx, insertMethod, m.Reference, m.Customer, m.Card, m.ID, m.Brand, m.LastFour, m.State, m.Reason, m.CreatedAtMillis)
	return err
}

// addPayment stores a payment, and reports whether its reference was unused.
func (t *transaction) addPayment(ctx context.Context, p Payment) (added bool, err error) {
	n, err := t.exec(ctx, insertPayment, p.Reference, p.Customer, p.Method, p.Payee, p.Mandate, p.AmountCents, p.Description, p.Capture,
		p.ID, p.State, p.Reason, p.CapturedCents, p.CreatedAtMillis, p.CapturedAtMillis)
	return n == 1, err
}

// decidePayment takes a payment out of requires_capture. One that is not there any
// more is a broken invariant: the caller read it in this transaction.
func (t *transaction) decidePayment(ctx context.Context, p Payment) error {
	n, err := t.exec(ctx, updatePayment, p.State, p.Reason, p.CapturedCents, p.CapturedAtMillis, p.Reference)
	if err != nil {
		return err
	}
	if n != 1 {
		return t.fail(fmt.Errorf("payment %s left %s twice", p.Reference, RequiresCapture))
	}
	return nil
}

// row is what a statement found.
type row interface{ Scan(dest ...any) error }

func scanPayment(r row, p *Payment) error {
	return r.Scan(&p.Reference, &p.Customer, &p.Method, &p.Payee, &p.Mandate, &p.AmountCents, &p.Description, &p.Capture,
		&p.ID, &p.State, &p.Reason, &p.CapturedCents, &p.RefundedCents, &p.CreatedAtMillis, &p.CapturedAtMillis)
}

func scanMethod(r row, m *Method) error {
	return r.Scan(&m.Reference, &m.Customer, &m.Card, &m.ID, &m.Brand, &m.LastFour, &m.State, &m.Reason, &m.CreatedAtMillis)
}

// method reads a payment method by its id; the zero Method if there is none.
func (d *database) method(ctx context.Context, id string) (Method, error) {
	var m Method
	err := scanMethod(d.Read.QueryRowContext(ctx, methodByID, id), &m)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Method{}, fmt.Errorf("read payment method: %w", err)
	}
	return m, nil
}

// payment reads the payment of a reference. It returns [ErrUnknownPayment] if there is none.
func (d *database) payment(ctx context.Context, reference string) (Payment, error) {
	var p Payment
	err := scanPayment(d.Read.QueryRowContext(ctx, paymentByReference, reference), &p)
	if errors.Is(err, sql.ErrNoRows) {
		return Payment{}, ErrUnknownPayment
	}
	if err != nil {
		return Payment{}, fmt.Errorf("read payment: %w", err)
	}
	return p, nil
}

func (d *database) totals(ctx context.Context) (Totals, error) {
	tx, err := d.Read.BeginTx(ctx, nil)
	if err != nil {
		return Totals{}, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	var t Totals
	if err := tx.QueryRowContext(ctx, sumPayments).Scan(&t.Payments, &t.CapturedCents, &t.HeldCents); err != nil {
		return Totals{}, fmt.Errorf("sum payments: %w", err)
	}
	if err := tx.QueryRowContext(ctx, sumRefunds).Scan(&t.Refunds, &t.RefundedCents); err != nil {
		return Totals{}, fmt.Errorf("sum refunds: %w", err)
	}
	return t, nil
}
