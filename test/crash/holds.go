package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store"
)

// Charges in two steps: callers authorize amounts, and capture, void or abandon them. In the
// end each is captured once, for the amount that the caller was answered, or voided, and
// nothing is held.

// ending is how a hold ends.
type ending int

const (
	captured ending = iota // in part or as a whole; a capture of nothing voids it
	voided
	raced   // by a capture and a void at the same time
	expired // without a call
	late    // by a capture at about the time when it expires
	endings // number of endings
)

const (
	// shortHold is the seconds after which an abandoned hold expires.
	shortHold = 1
	// longHold is longer than a caller takes to end a hold.
	longHold = 3600
)

// hold authorizes an amount and ends the hold in some way.
func (d *drill) hold(ctx context.Context, m string, currency client.Currency, how ending, random *rand.Rand) {
	held, _, ok := d.authorize(ctx, m, currency, how, random)
	if ok && held.Status == client.Authorized {
		d.end(ctx, held, how, random)
	}
}

// authorize sends an authorization until it is answered, always with its key.
func (d *drill) authorize(ctx context.Context, m string, currency client.Currency, how ending, random *rand.Rand) (client.Charge, answer, bool) {
	p := client.AuthorizeParams{ExpiresInSeconds: longHold, ChargeParams: client.ChargeParams{
		Mandate: m, AmountCents: 1 + random.Int64N(100), Currency: currency, Description: "drill", IdempotencyKey: keyOf(random),
	}}
	if how == expired || how == late {
		p.ExpiresInSeconds = shortHold
	}
	for ctx.Err() == nil {
		held, err := d.merchant.Authorize(ctx, p)
		if out, definite := d.settled(held, err); definite {
			if held.Status == client.Failed {
				d.fault(fmt.Sprintf("hold %s failed: %s", held.TransactionID, held.FailureReason))
			}
			return held, out, true
		}
	}
	return client.Charge{}, answer{}, false
}

func keyOf(random *rand.Rand) string { return fmt.Sprintf("h%d-%d", random.Uint64(), random.Uint64()) }

// end ends a hold, and returns what was captured of it.
func (d *drill) end(ctx context.Context, held client.Charge, how ending, random *rand.Rand) (cents int64) {
	part := client.CaptureParams{AmountCents: random.Int64N(held.AmountCents + 1), IdempotencyKey: keyOf(random)}
	capture := func() (client.Charge, error) { return d.merchant.Capture(ctx, held.TransactionID, part) }
	void := func() (client.Charge, error) { return d.merchant.Void(ctx, held.TransactionID) }
	switch how {
	case captured:
		d.ended(ctx, held, part.AmountCents, capture)
		return part.AmountCents
	case voided:
		d.ended(ctx, held, 0, void)
	case raced:
		d.race(ctx, held, part.AmountCents, capture, void)
	case late:
		around := time.Until(*held.AuthorizedUntil) + time.Duration(random.IntN(400)-200)*time.Millisecond
		if sleep.For(ctx, around) == nil {
			d.race(ctx, held, part.AmountCents, capture)
		}
	case expired, endings:
		d.must(held.TransactionID, client.Charge{Status: client.Voided, AmountCents: held.AmountCents})
	}
	return 0
}

// ended ends a hold with one call, which must succeed.
func (d *drill) ended(ctx context.Context, held client.Charge, cents int64, ask func() (client.Charge, error)) {
	if c, done := d.final(ctx, ask); done {
		d.result(held, c, cents)
	} else if ctx.Err() == nil {
		d.fault(fmt.Sprintf("hold %s was ended by somebody else", held.TransactionID))
	}
}

// race ends a hold with all of the calls at once. At most one of them may end it; if none
// does, the hold has expired.
func (d *drill) race(ctx context.Context, held client.Charge, cents int64, asks ...func() (client.Charge, error)) {
	var all sync.WaitGroup
	results := make(chan client.Charge, len(asks))
	for _, ask := range asks {
		all.Go(func() {
			if c, done := d.final(ctx, ask); done {
				results <- c
			}
		})
	}
	all.Wait()
	close(results)
	if ctx.Err() != nil {
		return
	}
	n := 0
	for c := range results {
		n++
		if c.Status == client.Voided {
			cents = 0
		}
		d.result(held, c, cents)
	}
	switch {
	case n == 0:
		d.must(held.TransactionID, client.Charge{Status: client.Voided, AmountCents: held.AmountCents})
	case n > 1 && cents > 0:
		d.fault(fmt.Sprintf("hold %s was captured and voided", held.TransactionID))
	}
}

// final asks until the result is final, and reports false if the hold had ended.
func (d *drill) final(ctx context.Context, ask func() (client.Charge, error)) (client.Charge, bool) {
	for {
		c, err := ask()
		var no *client.Error
		switch {
		case err == nil && c.Status != client.Pending:
			return c, true
		case ctx.Err() != nil, errors.Is(err, client.ErrAuthorizationEnded):
			return client.Charge{}, false
		case errors.As(err, &no) && no.Status < http.StatusInternalServerError && no.Status != http.StatusConflict:
			d.fault("unexpected answer: " + err.Error())
			return client.Charge{}, false
		}
		if sleep.For(ctx, 5*time.Millisecond) != nil {
			return client.Charge{}, false
		}
	}
}

// result records the result of a capture of cents, or of a void.
func (d *drill) result(held, c client.Charge, cents int64) {
	want := client.Charge{Status: client.Completed, AmountCents: cents}
	if cents == 0 {
		want = client.Charge{Status: client.Voided, AmountCents: held.AmountCents}
	}
	if c.TransactionID != held.TransactionID || c.Status != want.Status || c.AmountCents != want.AmountCents || c.AuthorizedCents != held.AmountCents {
		d.fault(fmt.Sprintf("hold %s of %d cents: asked to capture %d, and it is %s with %d", held.TransactionID, held.AmountCents, cents, c.Status, c.AmountCents))
	}
	d.must(held.TransactionID, c)
}

// must records the final state that a charge must have.
func (d *drill) must(id string, c client.Charge) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers[id] = c
}

// holdLimited holds a part of the mandate of a history, and gives back what is not captured.
func (d *drill) holdLimited(ctx context.Context, h *history, caller int, random *rand.Rand) {
	how, since := ending(random.IntN(int(voided)+1)), time.Now()
	held, out, ok := d.authorize(ctx, h.mandate, client.USD, how, random)
	if !ok {
		return
	}
	in := asked{cents: held.AmountCents}
	d.observe(ctx, h, caller, in, since, out)
	if held.Status != client.Authorized {
		return
	}
	since = time.Now()
	if rest := held.AmountCents - d.end(ctx, held, how, random); rest > 0 && ctx.Err() == nil {
		d.observe(ctx, h, caller, asked{back: rest}, since, answer{})
	}
}

// auditHolds compares each hold at the processor with the ledger and with the answer. A hold
// that the processor has not released yet is undecided.
func (d *drill) auditHolds(ctx context.Context, store store.Store, r *report) error {
	for id, told := range d.answers {
		c, err := store.Charge(ctx, id)
		if err != nil || c.Step == "" || c.Rail != rail.Card {
			continue // compared without the processor
		}
		p, err := d.processor.Payment(ctx, rail.Reference(id, rail.Card))
		for errors.Is(err, card.ErrUnavailable) { // one of its faults
			p, err = d.processor.Payment(ctx, rail.Reference(id, rail.Card))
		}
		if err != nil {
			return fmt.Errorf("read payment of %s: %w", id, err)
		}
		switch {
		case c.Status == ledger.ChargeSucceeded && p.State == card.Captured && int64(p.CapturedCents) == told.AmountCents:
		case c.Status == ledger.ChargeVoided && p.State == card.Voided:
		case p.State == card.RequiresCapture:
			r.Undecided++
		default:
			r.Faults = append(r.Faults, fmt.Sprintf("hold %s is %s, at the processor %s with %d cents; the answer was %s of %d cents",
				id, c.Status, p.State, p.CapturedCents, told.Status, told.AmountCents))
		}
	}
	return nil
}
