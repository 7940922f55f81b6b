package ledger

import (
	"context"
	"fmt"
	"time"
)

// Checkout is one payment that a person makes on a page. It is paid by the charge
// that it names, and by no other; that charge's status is its own.
type Checkout struct {
	Entropy     string // the part of ID that its merchant and key decide
	ID          string
	MerchantID  string
	Amount      Micros
	Description string
	ReturnURL   string
	SessionHash string // of the session for a payment by card
	ChargeID    string // empty: not charged
	// FailureReason is the rule that refused its charge.
	FailureReason string
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// CreateCheckout makes a checkout with the session for a payment by card, or
// returns the one that an earlier request with the same key made.
func (l *Ledger) CreateCheckout(ctx context.Context, c Checkout, s Session) (made Checkout, replayed bool, err error) {
	if err := c.validate(s); err != nil {
		return Checkout{}, false, err
	}
	keys := Keys{Sessions: []string{s.Hash}, Checkouts: []string{c.Entropy}}
	err = l.run(ctx, s.Hash, keys, func(state *State, _ time.Time) (Effects, error) {
		if made, replayed = state.Checkouts[c.Entropy]; replayed {
			replayed = made.ID != c.ID // else this very command, committed before its answer was lost
			return Effects{}, nil
		}
		made = c
		return Effects{Insert: Rows{Sessions: []Session{s}, Checkouts: []Checkout{c}}}, nil
	})
	if err != nil {
		return Checkout{}, false, fmt.Errorf("create checkout: %w", err)
	}
	return made, replayed, nil
}

// checkout finds the checkout that a reservation pays. It returns [ErrNotFound],
// or [ErrCheckoutFinished] if the checkout has a charge or was refused one.
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
