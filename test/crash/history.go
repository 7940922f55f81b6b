package main

import (
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// asked is what a caller requested of a mandate: to charge or hold cents, to give cents of
// a hold back, or to read what is left.
type asked struct{ cents, back int64 }

// answer is its final result: whether it was charged, and otherwise what
// is left of the month.
type answer struct {
	charged bool
	left    int64
}

// limited is a mandate's month as a single thread would keep it.
func limited(cents int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return cents },
		Step: func(state, input, output any) (bool, any) {
			left, in, out := state.(int64), input.(asked), output.(answer)
			switch {
			case in.back > 0:
				return true, left + in.back
			case in.cents == 0:
				return out.left == left, left
			case in.cents <= left:
				return out.charged, left - in.cents
			default:
				return !out.charged && out.left == left, left
			}
		},
	}
}

// judgedWithin bounds the search for an order that explains a history.
const judgedWithin = 2 * time.Minute

// history is all that was asked of one mandate, and when it was answered. A call that
// was cut off and sent again with its key is one operation: from its first sending to
// its answer.
type history struct {
	mandate string
	limit   int64
	began   time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
}

// add adds an operation, and returns how many there are.
func (h *history) add(caller int, in asked, since time.Time, out answer) int {
	end := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: caller, Input: in, Call: since.Sub(h.began).Nanoseconds(), Output: out, Return: end,
	})
	return len(h.operations)
}

func (h *history) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.operations)
}

// explained reports whether the answers could have been given one after the other.
func (h *history) explained() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(limited(h.limit), h.operations, judgedWithin)
}
