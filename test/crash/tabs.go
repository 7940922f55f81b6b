package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store"
)

// Small charges are drawn from tabs. In the end every draw that was answered is paid, and each
// block is captured once, for what its tab says, or voided.

const (
	// closeOneOf is the number of draws of which one closes its tab.
	closeOneOf = 12
	// tabLife is how long the mandate lives whose tab expires with it.
	tabLife = 2 * time.Second
)

// draw charges a small amount from a tab until it is answered, and sometimes closes the tab.
// It reports false if the mandate allows no more.
func (d *drill) draw(ctx context.Context, mandate string, random *rand.Rand) bool {
	p := client.ChargeParams{
		Mandate: mandate, AmountCents: 1 + random.Int64N(49), Currency: client.USD, Description: "drill", IdempotencyKey: keyOf(random), Tab: true,
	}
	for ctx.Err() == nil {
		c, err := d.merchant.Charge(ctx, p)
		var no *client.Error
		switch {
		case err == nil && c.TabID == "":
			d.fault(fmt.Sprintf("small charge %s is %s %s, without a tab", c.TransactionID, c.Status, c.FailureReason))
			return false
		case err == nil:
			d.mu.Lock()
			d.drawn[c.TransactionID] = c.AmountCents
			d.mu.Unlock()
			if random.IntN(closeOneOf) == 0 {
				d.closeTab(ctx, c.TabID)
			}
			return true
		case errors.Is(err, client.ErrMandateExpired):
			return false
		case errors.As(err, &no) && no.Status < http.StatusInternalServerError && no.Status != http.StatusConflict:
			d.fault("unexpected answer: " + err.Error())
			return false
		}
	}
	return false
}

func (d *drill) closeTab(ctx context.Context, id string) {
	if err := persist(ctx, func() error { _, err := d.merchant.CloseTab(ctx, id); return err }); err != nil && ctx.Err() == nil {
		d.fault("close tab: " + err.Error())
	}
}

// drawUntilExpired draws from the tabs of mandates that expire soon, one after the other.
func (d *drill) drawUntilExpired(ctx, until context.Context, random *rand.Rand) {
	for until.Err() == nil && ctx.Err() == nil {
		end := time.Now().Add(tabLife)
		done, err := d.completed(ctx, client.SessionParams{MaxPerTxCents: 100, MaxMonthlySpendCents: roomyCents, ExpiresAt: end}, client.TestCompletion{})
		if err != nil { // it took longer than the mandate was to live
			continue
		}
		for until.Err() == nil && d.draw(ctx, done.Mandate, random) {
			if sleep.For(ctx, time.Duration(random.IntN(50))*time.Millisecond) != nil {
				return
			}
		}
	}
}

// closeTabs closes all tabs, so that they are captured.
func (d *drill) closeTabs(ctx context.Context) error {
	return persist(ctx, func() error {
		for tab, err := range d.merchant.Tabs(ctx, client.ListParams{}) {
			if err == nil && tab.Status == client.TabOpen {
				_, err = d.merchant.CloseTab(ctx, tab.ID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// auditTabs compares each tab at the processor with the ledger, and each draw with its
// answer. It returns the number of captured tabs, and of their draws.
func (d *drill) auditTabs(ctx context.Context, s store.Store, r *report) (captured, draws int, err error) {
	var all []ledger.Tab
	err = s.Audit(ctx, func(a ledger.Audit) error {
		return a.Tabs(ctx, func(t ledger.Tab) error { all = append(all, t); return nil })
	})
	if err != nil {
		return 0, 0, err
	}
	for _, t := range all {
		if t.State != ledger.TabClosed {
			r.Undecided++
			continue
		}
		p, err := d.processor.Payment(ctx, rail.Reference(t.ID, rail.Card))
		for errors.Is(err, card.ErrUnavailable) { // one of its faults
			p, err = d.processor.Payment(ctx, rail.Reference(t.ID, rail.Card))
		}
		cents, _ := t.Capture.WholeCents()
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("read payment of %s: %w", t.ID, err)
		case t.Outcome == ledger.TabCaptured && p.State == card.Captured && p.CapturedCents == cents:
			captured, draws = captured+1, draws+int(t.Draws)
		case t.Outcome == ledger.TabVoided && p.State == card.Voided:
		default:
			r.Faults = append(r.Faults, fmt.Sprintf("tab %s is %s of %d cents, at the processor %s with %d", t.ID, t.Outcome, cents, p.State, p.CapturedCents))
		}
	}
	r.Tabs, r.Draws = len(all), len(d.drawn)
	for id, cents := range d.drawn {
		c, err := s.Charge(ctx, id)
		if err != nil || !c.Serves() || int64(c.Amount.CentsDown()) != cents {
			r.Lost++
		}
	}
	return captured, draws, nil
}
