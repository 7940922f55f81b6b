package card

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// The statements. They store and find; every decision is made in machine.go.
const (
	customerByReference = `SELECT reference, email, id, created_at FROM customers WHERE reference = ?`
	customerExists      = `SELECT EXISTS (SELECT 1 FROM customers WHERE id = ?)`
	insertCustomer      = `INSERT INTO customers (reference, email, id, created_at) VALUES (?, ?, ?, ?)`

	methodColumns     = `SELECT reference, customer_id, card, id, brand, last_four, state, reason, created_at FROM methods `
	methodByReference = methodColumns + `WHERE reference = ?`
	methodByID        = methodColumns + `WHERE id = ?`
	insertMethod      = `INSERT INTO methods (reference, customer_id, card, id, brand, last_four, state, reason, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

	paymentByReference = `SELECT reference, customer_id, method_id, payee, mandate, amount_cents, description,
		id, state, reason, created_at, captured_at FROM payments WHERE reference = ?`
	insertPayment = `INSERT INTO payments (reference, customer_id, method_id, payee, mandate, amount_cents, description,
		id, state, reason, created_at, captured_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// The state it must have is part of the question: a payment leaves requires_capture once.
	updatePayment = `UPDATE payments SET state = ?, captured_at = ? WHERE reference = ? AND state = 'requires_capture'`
	// The sums are a check for people and drills; nothing is decided by them.
	sumMovements = `SELECT count(*), coalesce(sum(amount_cents), 0) FROM movements`

	insertMovement = `INSERT INTO movements (reference, amount_cents, moved_at) VALUES (?, ?, ?)`
)

// prepared holds the writer's statements.
type prepared map[string]*sql.Stmt

func prepare(ctx context.Context, conn *sql.Conn) (prepared, error) {
	all := prepared{}
	for _, query := range [...]string{
		customerByReference, customerExists, insertCustomer, methodByReference, methodByID, insertMethod,
		paymentByReference, insertPayment, updatePayment, insertMovement,
	} {
		stmt, err := conn.PrepareContext(ctx, query) //nolint:sqlclosecheck // closed with conn
		if err != nil {
			return nil, fmt.Errorf("prepare %q: %w", query, err)
		}
		all[query] = stmt
	}
	return all, nil
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

// find reads one row, and tells whether there is one.
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

func (t *transaction) findMethod(ctx context.Context, query, key string) (m Method, found bool, err error) {
	found, err = t.find(ctx, query, key, func(r row) error {
		return r.Scan(&m.Reference, &m.Customer, &m.Card, &m.ID, &m.Brand, &m.LastFour, &m.State, &m.Reason, &m.CreatedAtMillis)
	})
	return m, found, err
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

// addPayment stores a payment under a reference that nobody has used, with the
// movement of the money where it is captured.
func (t *transaction) addPayment(ctx context.Context, p Payment) error {
	_, err := t.exec(ctx, insertPayment, p.Reference, p.Customer, p.Method, p.Payee, p.Mandate, p.AmountCents, p.Description,
		p.ID, p.State, p.Reason, p.CreatedAtMillis, p.CapturedAtMillis)
	if err != nil {
		return err
	}
	return t.addMovement(ctx, p)
}

// decidePayment takes a payment out of requires_capture, with the movement of the
// money where it is captured. One that is not there any more is a broken
// invariant: the caller read it in this transaction.
func (t *transaction) decidePayment(ctx context.Context, p Payment) error {
	n, err := t.exec(ctx, updatePayment, p.State, p.CapturedAtMillis, p.Reference)
	if err != nil {
		return err
	}
	if n != 1 {
		return t.fail(fmt.Errorf("payment %s left %s twice", p.Reference, RequiresCapture))
	}
	return t.addMovement(ctx, p)
}

func (t *transaction) addMovement(ctx context.Context, p Payment) error {
	if p.State != Captured {
		return nil
	}
	_, err := t.exec(ctx, insertMovement, p.Reference, p.AmountCents, p.CapturedAtMillis)
	return err
}

// row is what a statement found.
type row interface{ Scan(dest ...any) error }

func scanPayment(r row, p *Payment) error {
	return r.Scan(&p.Reference, &p.Customer, &p.Method, &p.Payee, &p.Mandate, &p.AmountCents, &p.Description,
		&p.ID, &p.State, &p.Reason, &p.CreatedAtMillis, &p.CapturedAtMillis)
}

// payment reads what became of a reference; [ErrUnknownPayment].
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
	var t Totals
	if err := d.Read.QueryRowContext(ctx, sumMovements).Scan(&t.Payments, &t.CapturedCents); err != nil {
		return Totals{}, fmt.Errorf("sum movements: %w", err)
	}
	return t, nil
}
