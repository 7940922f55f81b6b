package ledgertest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
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

// linearizable: whatever order clients of several instances ask in, what they
// receive is the result that one of the orders would give; a
// balance read is one of them.
func linearizable(t *testing.T, b *bench) {
	const rounds, clients, each = 8, 8, 25
	at := b.instances(t, 2)
	for range rounds {
		m := b.mandate(t, b.terms(100*cent, linearLimit))
		h := &history{began: time.Now()}
		together(clients, func(client int) {
			l := at[client%len(at)]
			var held []ledger.Charge
			for range each {
				switch n := rand.IntN(10); { // a load, not a secret
				case n < 5:
					amount := ledger.Micros(rand.Int64N(int64(60*cent))) + 1 // likewise
					h.record(client, operation{"reserve", amount}, func() (answer, error) {
						r, err := l.Reserve(t.Context(), b.request(m, amount))
						var refusal *ledger.Refusal
						if errors.As(err, &refusal) {
							return answer{amount: refusal.Remaining}, nil
						}
						held = append(held, r.Charge)
						return answer{granted: true}, err
					})
				case n < 8 && len(held) > 0:
					c := held[0]
					held = held[1:]
					h.record(client, operation{"release", c.Amount}, func() (answer, error) {
						_, err := l.Settle(t.Context(), c, declined())
						return answer{}, err
					})
				default:
					h.record(client, operation{kind: "read"}, func() (answer, error) {
						m, err := l.Mandate(t.Context(), m.ID)
						return answer{amount: ledger.Micros(m.Windows[0].Used)}, err
					})
				}
			}
		})
		require.Empty(t, h.errs)
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(limitModel, h.operations, time.Minute))
	}
	b.sound(t)
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
