package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Refunds: callers give back parts of what was charged, two at once, which may be more than
// there is. In the end each refund that was accepted has succeeded once, in the ledger and at
// the processor or on the chain.

// given is a refund that succeeded, and on the chain what the payee signed for it.
type given struct {
	client.Refund

	authorization x402.Authorization
}

// refund charges a mandate and gives parts of the charge back.
func (d *drill) refund(ctx context.Context, m string, currency client.Currency, random *rand.Rand) {
	p := client.ChargeParams{
		Mandate: m, AmountCents: 2 + random.Int64N(99), Currency: currency, Description: "drill", IdempotencyKey: "r" + keyOf(random),
	}
	if paid, _, ok := d.paid(ctx, p); ok && paid.Status == client.Completed {
		d.giveBack(ctx, paid, random)
	}
}

// paid sends a charge until it is answered, always with its key.
func (d *drill) paid(ctx context.Context, p client.ChargeParams) (client.Charge, answer, bool) {
	for ctx.Err() == nil {
		c, err := d.merchant.Charge(ctx, p)
		if out, definite := d.settled(c, err); definite {
			return c, out, true
		}
	}
	return client.Charge{}, answer{}, false
}

// giveBack refunds two parts of a charge at once, and returns what was given back. If the parts
// are more than the charge, one of them must be refused.
func (d *drill) giveBack(ctx context.Context, paid client.Charge, random *rand.Rand) (cents int64) {
	parts := []int64{1 + random.Int64N(paid.AmountCents), 1 + random.Int64N(paid.AmountCents)}
	keys := []string{"f" + keyOf(random), "f" + keyOf(random)}
	got := make([]int64, len(parts))
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { got[i] = d.refundPart(ctx, paid.TransactionID, parts[i], keys[i]) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return 0
	}
	sum, want := got[0]+got[1], parts[0]+parts[1]
	if sum != want && (want <= paid.AmountCents || sum != parts[0] && sum != parts[1]) {
		d.fault(fmt.Sprintf("charge %s of %d cents: refunds of %v gave back %v", paid.TransactionID, paid.AmountCents, parts, got))
	}
	return sum
}

// refundPart refunds a part until that is decided, and returns what was given back: nothing if
// the part is more than is left.
func (d *drill) refundPart(ctx context.Context, chargeID string, cents int64, key string) int64 {
	p := client.RefundParams{AmountCents: cents, IdempotencyKey: key}
	var r client.Refund
	if !d.untilAnswered(ctx, func() (err error) { r, err = d.merchant.Refund(ctx, chargeID, p); return err }) {
		return 0
	}
	done := given{Refund: r}
	for r.Status == client.RefundPending {
		if sleep.For(ctx, 5*time.Millisecond) != nil {
			return 0
		}
		next := r
		ask := func() (err error) { next, err = d.refundNow(ctx, r); return err }
		if s := r.Signature; s != nil {
			signature, a, err := signed(ctx, r)
			if err != nil {
				d.fault(err.Error())
				return 0
			}
			done.authorization = a
			ask = func() (err error) { next, err = d.merchant.SignRefund(ctx, chargeID, r.ID, signature); return err }
		}
		if !d.untilAnswered(ctx, ask) {
			return 0
		}
		r = next
	}
	if done.Refund = r; r.Status != client.RefundSucceeded || r.AmountCents != cents {
		d.fault(fmt.Sprintf("refund %s of %d cents is %s (%s) with %d", r.ID, cents, r.Status, r.FailureReason, r.AmountCents))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refunds[r.ID] = done
	return cents
}

// refundNow returns the present state of a refund.
func (d *drill) refundNow(ctx context.Context, r client.Refund) (client.Refund, error) {
	for one, err := range d.merchant.Refunds(ctx, r.TransactionID, client.ListParams{}) {
		if err != nil {
			return r, err
		}
		if one.ID == r.ID {
			return one, nil
		}
	}
	return r, nil
}

// signed signs a refund as the merchant's wallet.
func signed(ctx context.Context, r client.Refund) (string, x402.Authorization, error) {
	var typed struct {
		Message x402.Authorization `json:"message"`
	}
	if err := json.Unmarshal(r.Signature.TypedData, &typed); err != nil {
		return "", typed.Message, fmt.Errorf("typed data of refund %s: %w", r.ID, err)
	}
	signature, err := devrail.Wallet(devchain.Payee(0)).SignRefund(ctx, r.Signature.TypedData, evm.RefundTerms{MaxCents: r.AmountCents, Until: r.Signature.ExpiresAt})
	return signature, typed.Message, err
}

// untilAnswered asks until there is an answer, and reports whether it is no refusal. More than
// what is left of a charge is refused; a wallet that is short is funded again after a
// reorganization.
func (d *drill) untilAnswered(ctx context.Context, ask func() error) bool {
	for ctx.Err() == nil {
		err := ask()
		var no *client.Error
		switch {
		case err == nil:
			return true
		case errors.As(err, &no) && no.Param == "amountCents":
			return false
		case errors.As(err, &no) && no.Status < http.StatusInternalServerError && no.Status != http.StatusConflict && ctx.Err() == nil:
			d.fault("unexpected answer: " + err.Error())
			return false
		}
		if sleep.For(ctx, 20*time.Millisecond) != nil {
			return false
		}
	}
	return false
}

// refundLimited charges the mandate of a history and gives a part back.
func (d *drill) refundLimited(ctx context.Context, h *history, caller int, random *rand.Rand) {
	p := client.ChargeParams{
		Mandate: h.mandate, AmountCents: 2 + random.Int64N(99), Currency: client.USD, Description: "drill", IdempotencyKey: "r" + keyOf(random),
	}
	since := time.Now()
	paid, out, ok := d.paid(ctx, p)
	if !ok {
		return
	}
	d.observe(ctx, h, caller, asked{cents: p.AmountCents}, since, out)
	if paid.Status != client.Completed {
		return
	}
	since = time.Now()
	back := d.refundPart(ctx, paid.TransactionID, 1+random.Int64N(paid.AmountCents), "f"+keyOf(random))
	if back > 0 && ctx.Err() == nil {
		d.observe(ctx, h, caller, asked{back: back}, since, answer{})
	}
}

// auditRefunds compares the answers of refunds with the ledger, and returns what the ledger has
// given back: how often, and the sum in cents.
func (d *drill) auditRefunds(ctx context.Context, store store.Store, r *report) (n, cents int64, err error) {
	kept := map[string]ledger.Refund{}
	for id := range d.answers {
		c, err := store.Charge(ctx, id)
		if err != nil || c.Refunds == 0 {
			continue // a charge that is missing is reported as lost
		}
		all, err := store.RefundsOf(ctx, id, 0, ledger.MaxRefunds)
		if err != nil {
			return 0, 0, fmt.Errorf("read refunds of %s: %w", id, err)
		}
		for _, one := range all {
			kept[one.ID] = one
			switch one.Status {
			case ledger.RefundSucceeded:
				n, cents = n+1, cents+int64(one.Amount.CentsDown())
			case ledger.RefundPending:
				r.Undecided++
			case ledger.RefundFailed:
				r.Faults = append(r.Faults, fmt.Sprintf("refund %s failed: %s", one.ID, one.FailureReason))
			}
		}
	}
	for id, told := range d.refunds {
		one := kept[id]
		if one.Status != ledger.RefundSucceeded || int64(one.Amount.CentsDown()) != told.AmountCents || one.TxHash != told.TxHash {
			r.Lost++
		}
	}
	r.Refunds = int(n)
	return n, cents, nil
}

// auditCardRefunds compares the refunds of the ledger with those of the processor.
func (d *drill) auditCardRefunds(ctx context.Context, store store.Store, r *report) error {
	n, cents, err := d.auditRefunds(ctx, store, r)
	if err != nil || r.Undecided > 0 {
		return err
	}
	moved, err := d.processor.Totals(ctx)
	if err != nil {
		return err
	}
	if r.Doubled += max(int(moved.Refunds-n), 0); moved.Refunds != n || int64(moved.RefundedCents) != cents {
		r.Faults = append(r.Faults, fmt.Sprintf("the ledger has %d refunds of %d cents, the processor %d of %d",
			n, cents, moved.Refunds, moved.RefundedCents))
	}
	return nil
}
