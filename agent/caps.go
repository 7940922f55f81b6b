package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

const (
	// microsPerCent is the number of millionths of a dollar in a cent.
	microsPerCent = 10_000
	// capsLife is how long a mandate's balance is used before it is read again.
	capsLife = 30 * time.Second
	// capsRest is the minimum time between two reads of the balance.
	capsRest = time.Second
)

// caps is what a mandate allows according to the last read of its balance, minus what was
// presented since. It avoids presentations that would be refused; the service decides.
type caps struct {
	service Service
	mandate string
	clock   func() time.Time

	turn    chan struct{} // held while balance and read are used
	balance client.Balance
	read    time.Time // zero: never
	hidden  bool      // the access token may not read the balance
}

func newCaps(cfg Config) *caps {
	return &caps{service: cfg.Service, mandate: cfg.Mandate, clock: cfg.Clock, turn: make(chan struct{}, 1)}
}

// check returns why a mandate cannot pay a price: [ErrBudget], [ErrNoMethod] or an error of
// the service. If the balance does not allow the price, it is read again unless it was
// read less than capsRest ago.
func (c *caps) check(ctx context.Context, micros int64) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := c.clock()
	age := now.Sub(c.read)
	if c.read.IsZero() || age < 0 || age >= capsLife {
		if err := c.refresh(ctx, now); err != nil {
			return err
		}
		age = 0
	}
	err := c.against(micros)
	if err != nil && age >= capsRest {
		if failed := c.refresh(ctx, now); failed != nil {
			return failed
		}
		err = c.against(micros)
	}
	return err
}

func (c *caps) refresh(ctx context.Context, now time.Time) error {
	b, err := c.service.Balance(ctx, c.mandate)
	if errors.Is(err, client.ErrInsufficientScope) { // the service decides without us
		c.hidden, c.read = true, now
		return nil
	}
	if err != nil {
		return err
	}
	b.Limits = slices.Clone(b.Limits)
	for i, l := range b.Limits { // presented changes them
		b.Limits[i].RemainingCents, b.Limits[i].RemainingPayments = copied(l.RemainingCents), copied(l.RemainingPayments)
	}
	c.balance, c.read = b, now
	return nil
}

// presented subtracts a price that was presented.
func (c *caps) presented(micros int64) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.balance.RemainingMonthlySpendCents -= inCents(micros)
	for _, l := range c.balance.Limits {
		subtract(l.RemainingCents, inCents(micros))
		subtract(l.RemainingPayments, 1)
	}
}

func (c *caps) against(micros int64) error {
	b, cents := c.balance, inCents(micros)
	switch {
	case c.hidden:
		return nil
	case b.Status != client.MandateActive:
		return fmt.Errorf("%w: the mandate is %s", ErrBudget, b.Status)
	case cents > b.MaxPerTxCents:
		return fmt.Errorf("%w: the mandate allows %s USD per payment", ErrBudget, usd(b.MaxPerTxCents*microsPerCent))
	case cents > b.RemainingMonthlySpendCents:
		return fmt.Errorf("%w: %s USD are left this month", ErrBudget, usd(max(b.RemainingMonthlySpendCents, 0)*microsPerCent))
	}
	for _, l := range b.Limits {
		if err := exceeds(l, cents); err != nil {
			return err
		}
	}
	return nil
}

// exceeds returns an [ErrBudget] if a payment exceeds a limit, or nil.
func exceeds(l client.Limit, cents int64) error {
	switch {
	case l.RemainingPayments != nil && *l.RemainingPayments < 1:
		return fmt.Errorf("%w: the mandate allows no more payments today", ErrBudget)
	case l.RemainingCents != nil && cents > *l.RemainingCents:
		return fmt.Errorf("%w: %s USD are left of the mandate's limit %q", ErrBudget, usd(max(*l.RemainingCents, 0)*microsPerCent), l.Kind)
	case l.RemainingCents == nil && l.LimitCents != nil && cents > *l.LimitCents: // the use of a payee's limit is not listed
		return fmt.Errorf("%w: the mandate allows %s USD to one payee", ErrBudget, usd(*l.LimitCents*microsPerCent))
	}
	return nil
}

// subtract subtracts n from what is left of a limit that counts it.
func subtract(left *int64, n int64) {
	if left != nil {
		*left -= n
	}
}

func copied(n *int64) *int64 {
	if n == nil {
		return nil
	}
	return new(*n)
}

// inCents rounds a positive price up to cents, as the ledger does.
func inCents(micros int64) int64 { return (micros-1)/microsPerCent + 1 }
