package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// operation is what a client asked for.
type operation struct {
	kind   string // reserve, release or read
	amount ledger.Micros
}

// answer is its result: whether a reservation was granted and what was left
// where not, or what is spent.
type answer struct {
	granted bool
	amount  ledger.Micros
}

const linearLimit = 300 * cent

// limitModel is one mandate's counter as a single thread would keep it.
var limitModel = porcupine.Model{
	Init: func() any { return ledger.Micros(0) },
	Step: func(state, input, output any) (bool, any) {
		spent, in, out := state.(ledger.Micros), input.(operation), output.(answer)
		switch in.kind {
		case "reserve":
			fits := spent+in.amount <= linearLimit
			if fits {
				return out.granted, spent + in.amount
			}
			return !out.granted && out.amount == linearLimit-spent, spent
		case "release":
			return true, spent - in.amount
		default:
			return out.amount == spent, spent
		}
	},
}

// linearizable: for any order in which clients of several instances charge, hold, capture, void,
// refund and read, their answers are those of one of the orders.
func linearizable(t *testing.T, b *bench) {
	const rounds, clients, each = 8, 8, 25
	at := b.instances(t, 2)
	for range rounds {
		m := b.mandate(t, b.terms(100*cent, linearLimit))
		h := &history{began: time.Now()}
		together(clients, func(client int) {
			c := linearClient{bench: b, Ledger: at[client%len(at)], h: h, id: client, mandate: m}
			for range each {
				c.step(t.Context())
			}
		})
		require.Empty(t, h.errs)
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(limitModel, h.operations, time.Minute))
	}
	b.sound(t)
}

// linearClient is one client, with the charges that it can still change.
type linearClient struct {
	*bench
	*ledger.Ledger

	h       *history
	id      int
	mandate ledger.Mandate
	open    []ledger.Charge // pending, authorized or succeeded
	keys    int
}

// step does one thing at random: a load, not a secret.
func (c *linearClient) step(ctx context.Context) {
	switch n := rand.IntN(10); {
	case n < 5:
		c.reserve(ctx)
	case n < 8 && len(c.open) > 0:
		charge := c.open[0]
		c.open = c.open[1:]
		c.end(ctx, charge)
	default:
		c.h.record(c.id, operation{kind: "read"}, func() (answer, error) {
			m, err := c.Ledger.Mandate(ctx, c.mandate.ID)
			return answer{amount: ledger.Micros(m.Windows[0].Used)}, err
		})
	}
}

// reserve charges an amount or holds it.
func (c *linearClient) reserve(ctx context.Context) {
	r := c.request(c.mandate, ledger.Micros(rand.Int64N(int64(60*cent)))+1)
	end := succeeded()
	if rand.IntN(2) == 0 {
		r.Hold, r.Kind = time.Hour, ledger.AuthorizeKey
		end = heldOn(rail.Chain)
	}
	var got ledger.Reservation
	c.h.record(c.id, operation{"reserve", r.Amount}, func() (_ answer, err error) {
		got, err = c.Reserve(ctx, r)
		var refusal *ledger.Refusal
		if errors.As(err, &refusal) {
			return answer{amount: refusal.Remaining}, nil
		}
		return answer{granted: true}, err
	})
	if got.Charge.ID == "" {
		return
	}
	if rand.IntN(3) > 0 { // the others stay pending, and are declined
		settled, err := c.Settle(ctx, got.Charge, end)
		c.h.must(err)
		got.Charge = settled
	}
	c.open = append(c.open, got.Charge)
}

// end gives back what it can of a charge: all that was declined or voided, what was not
// captured, or what is refunded. What remains of it may be refunded later.
func (c *linearClient) end(ctx context.Context, charge ledger.Charge) {
	part := ledger.Micros(rand.Int64N(int64(charge.Amount))) + 1
	back, do := charge.Amount, func() error {
		end := declined()
		end.Step = charge.Step
		_, err := c.Settle(ctx, charge, end)
		return err
	}
	switch {
	case charge.Status == ledger.ChargeAuthorized && rand.IntN(2) == 0:
		do = func() error { _, err := c.Void(ctx, charge); return err }
	case charge.Status == ledger.ChargeAuthorized:
		back, do = charge.Amount-part, func() error { return c.capture(ctx, charge, part) }
	case charge.Status == ledger.ChargeSucceeded:
		back, do = part, func() error { return c.refund(ctx, charge, part) }
		if charge.Rail == rail.Chain { // the month stays used
			back = 0
		}
	}
	c.h.record(c.id, operation{"release", back}, func() (answer, error) { return answer{}, do() })
}

func (c *linearClient) capture(ctx context.Context, charge ledger.Charge, amount ledger.Micros) error {
	got, err := c.Capture(ctx, captureOf(charge, amount))
	if err != nil {
		return err
	}
	end := succeeded()
	end.Step, end.Rail = got.Charge.Step, rail.Chain
	done, err := c.Settle(ctx, got.Charge, end)
	if err == nil {
		c.open = append(c.open, done)
	}
	return err
}

func (c *linearClient) refund(ctx context.Context, charge ledger.Charge, amount ledger.Micros) error {
	c.keys++
	r, _, err := c.Refund(ctx, c.refundOf(charge, amount, fmt.Sprintf("%d %d %s", c.id, c.keys, charge.ID)))
	if err != nil {
		return err
	}
	if _, err := c.SettleRefund(ctx, r, gaveBack); err != nil {
		return err
	}
	if charge.Amount -= amount; charge.Amount > 0 { // what is left of it
		c.open = append(c.open, charge)
	}
	return nil
}

// history records each caller's results with their times.
type history struct {
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
	errs       []error
}

func (h *history) record(client int, in operation, do func() (answer, error)) {
	call := time.Since(h.began).Nanoseconds()
	out, err := do()
	end := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.errs = append(h.errs, err)
	}
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
}

// must records the error of a command that is no operation.
func (h *history) must(err error) {
	if err == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}
