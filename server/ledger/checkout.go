package ledger

import (
	"context"
	"fmt"
	"time"
)

// Checkout is one payment that a person makes on a page. Only the charge that it names
// pays it, and the status of that charge is the checkout's.
type Checkout struct {
	// Entropy is the part of ID that is derived from the merchant and its idempotency key.
	Entropy string
	// ID identifies the checkout.
	ID string
	// MerchantID identifies the payee.
	MerchantID string
	// Amount is the amount to pay.
	Amount Micros
	// Description is shown to the person.
	Description string
	// ReturnURL is the address to which the person returns.
	ReturnURL string
	// SessionHash identifies the setup session for a payment by card.
	SessionHash string
	// ChargeID is the charge that pays the checkout; empty if there is none.
	ChargeID string
	// FailureReason is the rule that refused the charge.
	FailureReason string
	// CreatedAt is the time of creation.
	CreatedAt time.Time
	// ExpiresAt is the time from which the checkout cannot be paid.
	ExpiresAt time.Time
}

// CreateCheckout creates a checkout with its session for a payment by card, or returns the
// checkout that an earlier request with the same key created.
func (l *Ledger) CreateCheckout(ctx context.Context, c Checkout, s Session) (_ Checkout, replayed bool, _ error) {
	if err := c.validate(s); err != nil {
		return Checkout{}, false, err
	}
	var (
		result Checkout
		before bool
	)
	keys := Keys{Sessions: []string{s.Hash}, Checkouts: []string{c.Entropy}}
	err := l.run(ctx, s.Hash, keys, func(state *State, _ time.Time) (Effects, error) {
		if result, before = state.Checkouts[c.Entropy]; before {
			before = result.ID != c.ID // if equal, this very command was committed and its result was lost
			return Effects{}, nil
		}
		result = c
		return Effects{Insert: Rows{Sessions: []Session{s}, Checkouts: []Checkout{c}}}, nil
	})
	if err != nil {
		return Checkout{}, false, fmt.Errorf("create checkout: %w", err)
	}
	return result, before, nil
}

// checkout returns the checkout that a reservation pays. It returns [ErrNotFound], or
// [ErrCheckoutFinished] if the checkout has a charge or was refused one.
func (r Reserve) checkout(s *State) (Checkout, error) {
	c, ok := s.Checkouts[r.Checkout]
	switch {
	case !ok:
		return Checkout{}, ErrNotFound
	case c.MerchantID != r.Payee.ID || c.Amount != r.Amount:
		return Checkout{}, fmt.Errorf("%w: charge of %d micros for %s cannot pay checkout %s", ErrInvariant, r.Amount, r.Payee.ID, c.ID)
	case c.ChargeID != r.ChargeID && (c.ChargeID != "" || c.FailureReason != ""):
		return Checkout{}, ErrCheckoutFinished
	}
	return c, nil
}
