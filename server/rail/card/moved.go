package card

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Lister is a [Gateway] that lists what its processor has moved. A rail over it can be
// reconciled with the ledger.
type Lister interface {
	// Moved lists captured payments, or refunds that succeeded, in the order of their
	// references. It returns [ErrInvalid].
	Moved(ctx context.Context, q MovedQuery) ([]Moved, error)
}

// MovedQuery selects movements.
type MovedQuery struct {
	// Refunds selects refunds instead of payments.
	Refunds bool
	// SinceMillis selects movements from this time on, in unix milliseconds.
	SinceMillis int64
	// After is the reference after which the list begins; empty: the first.
	After string
	// Limit is the maximum number of movements, from 1 to [MaxMoved].
	Limit int
}

// MaxMoved is the highest [MovedQuery.Limit].
const MaxMoved = 150

// Moved is money that a processor has moved.
type Moved struct {
	// Reference is that of the payment or the refund.
	Reference string `json:"reference"`
	// ID is the processor's id.
	ID string `json:"id"`
	// AmountCents is the amount in US cents.
	AmountCents money.Cents `json:"amountCents"`
	// AtMillis is the time of the movement, in unix milliseconds.
	AtMillis int64 `json:"atMillis"`
}

func (q MovedQuery) validate() error {
	if q.Limit < 1 || q.Limit > MaxMoved {
		return fmt.Errorf("%w: limit must be 1 to %d", ErrInvalid, MaxMoved)
	}
	return nil
}

// The statements of lists, which follow the primary keys.
const (
	capturedPayments = `SELECT reference, id, captured_cents, captured_at FROM payments
		WHERE state = 'captured' AND reference > ? AND captured_at >= ? ORDER BY reference LIMIT ?`
	succeededRefunds = `SELECT reference, id, amount_cents, refunded_at FROM refunds
		WHERE state = 'succeeded' AND reference > ? AND refunded_at >= ? ORDER BY reference LIMIT ?`
)

// Moved implements [Lister]. Faults do not affect it.
func (p *Processor) Moved(ctx context.Context, q MovedQuery) ([]Moved, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	statement := capturedPayments
	if q.Refunds {
		statement = succeededRefunds
	}
	rows, err := p.db.Read.QueryContext(ctx, statement, q.After, q.SinceMillis, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list movements: %w", err)
	}
	defer rows.Close()
	list := []Moved{}
	for rows.Next() {
		var m Moved
		if err := rows.Scan(&m.Reference, &m.ID, &m.AmountCents, &m.AtMillis); err != nil {
			return nil, fmt.Errorf("read movement: %w", err)
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

// movedPath is the path of lists.
const movedPath = "/v1/movements"

// movedList is the response of movedPath.
type movedList struct {
	Data []Moved `json:"data"`
}

// moved serves lists: GET /v1/movements?refunds=true&since=MILLIS&after=REFERENCE&limit=N.
func (p *Processor) moved(w http.ResponseWriter, r *http.Request) {
	in := r.URL.Query()
	var q MovedQuery
	var err [3]error
	q.After = in.Get("after")
	q.Refunds, err[0] = strconv.ParseBool(in.Get("refunds"))
	q.SinceMillis, err[1] = strconv.ParseInt(in.Get("since"), 10, 64)
	q.Limit, err[2] = strconv.Atoi(in.Get("limit"))
	if e := errors.Join(err[:]...); e != nil {
		answerWith(w, nil, fmt.Errorf("%w: %w", ErrInvalid, e))
		return
	}
	list, e := p.Moved(r.Context(), q)
	answerWith(w, movedList{list}, e)
}

// Moved calls [Processor.Moved].
func (h *HTTP) Moved(ctx context.Context, q MovedQuery) ([]Moved, error) {
	query := url.Values{
		"refunds": {strconv.FormatBool(q.Refunds)}, "since": {strconv.FormatInt(q.SinceMillis, 10)},
		"after": {q.After}, "limit": {strconv.Itoa(q.Limit)},
	}
	list, err := call[movedList](ctx, h, http.MethodGet, movedPath+"?"+query.Encode(), nil)
	return list.Data, err
}

var _ rail.Mover = (*Rail)(nil)

// MovementKey implements [rail.Mover].
func (r *Rail) MovementKey(kind rail.MovementKind, reference string) string {
	return string(kind) + "/" + reference
}

// Movements implements [rail.Mover]. It returns [rail.ErrNotListed] if the gateway
// is no [Lister].
func (r *Rail) Movements(ctx context.Context, since time.Time, yield func(rail.Movement) error) error {
	gateway, err := r.gateway(ctx)
	if err != nil {
		return err
	}
	lister, ok := gateway.(Lister)
	if !ok {
		return rail.ErrNotListed
	}
	for kind, refunds := range map[rail.MovementKind]bool{rail.ChargeMovement: false, rail.RefundMovement: true} {
		q := MovedQuery{Refunds: refunds, SinceMillis: max(since.UnixMilli(), 0), Limit: MaxMoved}
		for more := true; more; {
			list, err := r.page(ctx, lister, q)
			if err != nil {
				return fmt.Errorf("list card movements: %w", err)
			}
			for _, m := range list {
				amount, err := m.AmountCents.Micros()
				if err == nil {
					err = yield(rail.Movement{Key: r.MovementKey(kind, m.Reference), Reference: m.Reference, Amount: amount, ID: m.ID})
				}
				if err != nil {
					return err
				}
				q.After = m.Reference
			}
			more = len(list) == q.Limit
		}
	}
	return nil
}

// page reads one page within the rail's time limit.
func (r *Rail) page(ctx context.Context, lister Lister, q MovedQuery) ([]Moved, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return lister.Moved(ctx, q)
}
