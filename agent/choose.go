package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/paywarrant/paywarrant/client"
)

// smallestByCard is the smallest price that a card pays, in millionths of a dollar.
const smallestByCard = 500_000

// microsPerCent is how many millionths of a dollar make a cent.
const microsPerCent = 10_000

// choose takes the cheapest offer that is allowed, and makes its credential. What
// stands against an offer does not stop the next one; where none is left, the
// reason of the cheapest is told.
func (t *Transport) choose(r *http.Request, a asked) (*credential, error) {
	ctx := r.Context()
	offers := t.offers(a, r.URL)
	refuse := func(reason error, detail string) error {
		return &PaymentError{Reason: reason, URL: shown(r.URL), Offers: offers, Detail: detail}
	}
	var first error
	for _, o := range offers {
		if !o.Usable {
			continue
		}
		c, detail, reason := t.try(ctx, r, a, o, offers)
		if reason == nil {
			return c, nil
		}
		if first == nil {
			first = refuse(reason, detail)
		}
		if stops(reason) {
			break
		}
	}
	if first == nil {
		first = refuse(ErrNoWay, fmt.Sprintf("%d offered", len(offers)))
	}
	return nil, first
}

// stops tells whether a reason speaks against every other way as well.
func stops(reason error) bool {
	return errors.Is(reason, ErrNotApproved) || errors.Is(reason, context.Canceled) || errors.Is(reason, context.DeadlineExceeded)
}

// try holds one offer against every limit, cheapest check first, and makes its
// credential. The money is counted before it is made, and given back where it is not.
func (t *Transport) try(ctx context.Context, r *http.Request, a asked, o Offer, all []Offer) (c *credential, detail string, reason error) {
	limit := t.maxPrice(ctx)
	if o.AmountMicros > limit {
		return nil, fmt.Sprintf("asked %s USD by %s, allowed %s", o.Price(), o.Way, Offer{AmountMicros: limit}.Price()), ErrTooExpensive
	}
	if o.Way == Mandate {
		if err := t.checkMandate(ctx, o); err != nil {
			return nil, "", err
		}
	}
	if t.cfg.Approve != nil && (o.AmountMicros > t.cfg.ApproveAboveMicros || t.cfg.ApproveAboveMicros == 0) {
		p := Purchase{Offer: o, Method: r.Method, URL: shown(r.URL), Description: a.description(), Offers: all}
		if err := t.cfg.Approve(ctx, p); err != nil {
			return nil, "", fmt.Errorf("%w: %w", ErrNotApproved, err)
		}
	}
	giveBack, err := t.spent.reserve(o.AmountMicros)
	if err != nil {
		return nil, "", err
	}
	if c, err = t.make(ctx, o, r); err != nil {
		giveBack()
		return nil, "", err
	}
	return c, "", nil
}

// checkMandate holds a price against what the mandate allows now, so that no
// presentation is made that the service would refuse. It decides, not we.
func (t *Transport) checkMandate(ctx context.Context, o Offer) error {
	b, err := t.cfg.Service.Balance(ctx, t.cfg.Mandate)
	if err != nil {
		return err
	}
	cents := (o.AmountMicros-1)/microsPerCent + 1
	cardOnly := len(b.Rails) > 0 && !slices.Contains(b.Rails, client.ChainRail) && !slices.Contains(b.Rails, client.BothRails)
	switch {
	case b.Status != client.MandateActive:
		return fmt.Errorf("%w: it is %s", ErrBudget, b.Status)
	case cents > b.MaxPerTxCents:
		return fmt.Errorf("%w: one payment may be %d cents", ErrBudget, b.MaxPerTxCents)
	case cents > b.RemainingMonthlySpendCents:
		return fmt.Errorf("%w: %d cents are left this month", ErrBudget, b.RemainingMonthlySpendCents)
	case cardOnly && o.AmountMicros < smallestByCard:
		return fmt.Errorf("%w: it pays by card alone, and a card pays 0.50 USD or more", ErrNoWay)
	}
	return nil
}

// shown is a URL without what may be secret in it.
func shown(u *url.URL) string { return origin(u) + u.EscapedPath() }
