package toolkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/agent"
)

const (
	// window is the time within which an equal payment counts as a repetition.
	window = 10 * time.Minute
	// maxRepeats limits the payments that are remembered.
	maxRepeats = 4096
)

// repeats remembers the payments of the last [window].
type repeats struct {
	clock func() time.Time

	mu        sync.Mutex
	made      map[string]payment
	undecided map[string]undecided // payments without an outcome
}

// undecided is the idempotency key of a payment without an outcome.
type undecided struct {
	at             time.Time
	idempotencyKey string
}

// keepUndecided is how long the service replays a payment under its key, less an hour.
const keepUndecided = 23 * time.Hour

type payment struct {
	at            time.Time
	transactionID string
}

func newRepeats(clock func() time.Time) *repeats {
	return &repeats{clock: clock, made: map[string]payment{}, undecided: map[string]undecided{}}
}

// key identifies equal payments.
func key(parts ...any) string {
	h := sha256.New()
	for _, part := range parts {
		text := fmt.Sprint(part)
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// pending returns the idempotency key of an equal payment without an outcome, or "".
func (r *repeats) pending(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.undecided[key]; r.clock().Sub(u.at) < keepUndecided {
		return u.idempotencyKey
	}
	return ""
}

// decide notes whether a payment has an outcome.
func (r *repeats) decide(key, idempotencyKey string, decided bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if decided {
		delete(r.undecided, key)
		return
	}
	now := r.clock()
	if len(r.undecided) >= maxRepeats {
		maps.DeleteFunc(r.undecided, func(_ string, u undecided) bool { return now.Sub(u.at) >= keepUndecided })
	}
	if _, known := r.undecided[key]; !known && len(r.undecided) < maxRepeats {
		r.undecided[key] = undecided{now, idempotencyKey}
	}
}

// seen returns the error for a payment that was made before, or nil.
func (r *repeats) seen(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[key].repeated(r.clock())
}

// begin is seen and add in one step. The caller calls add or forget later.
func (r *repeats) begin(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.made[key].repeated(r.clock()); err != nil {
		return err
	}
	r.made[key] = payment{at: r.clock()}
	return nil
}

// forget removes a payment that was not made.
func (r *repeats) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.made, key)
}

func (p payment) repeated(now time.Time) error {
	if p.at.IsZero() || now.Sub(p.at) >= window {
		return nil
	}
	return duplicate(p.transactionID)
}

// add remembers a payment.
func (r *repeats) add(key, transactionID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	if len(r.made) >= maxRepeats {
		for k, p := range r.made {
			if now.Sub(p.at) >= window {
				delete(r.made, k)
			}
		}
	}
	if len(r.made) < maxRepeats {
		r.made[key] = payment{now, transactionID}
	}
}

// duplicate returns the error for a repeated payment.
func duplicate(transactionID string) *Error {
	return &Error{
		Code: CodeDuplicate, Message: "The same payment was made in the last ten minutes. Nothing was paid now.", Remedy: Confirm,
		Next: "Use the earlier result. Only if a second payment is intended, call again with payAgain true.", TransactionID: transactionID,
	}
}

// intent is what a fetch means to buy. It travels in the context to approve.
type intent struct {
	mandate, request string
	payAgain         bool
	key              string // of the payment that was approved
	begun            bool   // the key was added before the payment
}

type intentKey struct{}

// approve is called by the agent before each payment of a fetch.
func (k *Kit) approve(ctx context.Context, p agent.Purchase) error {
	in, ok := ctx.Value(intentKey{}).(*intent)
	if !ok {
		return nil
	}
	in.key = key("fetch", in.mandate, p.PayTo, p.AmountMicros, in.request)
	if in.payAgain {
		return nil
	}
	err := k.repeats.begin(in.key)
	in.begun = err == nil
	return err
}

// maxReceipts limits the receipts that are remembered.
const maxReceipts = 256

// receipts remembers what was paid for, so that a receipt can be verified without its details.
type receipts struct {
	mu   sync.Mutex
	list []known
}

type known struct{ header, resource, payTo, amount string }

func (r *receipts) add(one known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == maxReceipts {
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, one)
}

func (r *receipts) find(header string) known {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		if one.header == header {
			return one
		}
	}
	return known{}
}
