package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/paywarrant/paywarrant/client"
)

// maxTries is the maximum number of methods that are tried for one request.
const maxTries = 3

// purchase is the payment of one 402: at most [maxTries] methods, each once, and one
// approval.
type purchase struct {
	*visit
	listing

	asked    asked
	key      requestKey
	approved *Offer // the offer that Approve accepted
	tried    map[Method]bool
	// unpayable counts the offers that the service could not pay.
	unpayable int
	reason    error // why the cheapest offer is not used
}

// buy pays the cheapest offer that every limit allows. It tries the next method if
// nothing was sent for the last one, or if the seller definitely refused it.
func (v *visit) buy(a asked, key requestKey) (*http.Response, error) {
	p := &purchase{visit: v, listing: v.list(a, v.request.URL), asked: a, key: key, tried: map[Method]bool{}}
	var last *http.Response
	for _, o := range p.offers {
		if !o.Usable || p.tried[o.Method] || len(p.tried) == maxTries {
			continue
		}
		c, reason := p.prepare(o)
		if reason != nil {
			p.against(o, reason)
			if stops(v.request.Context(), reason) {
				break
			}
			continue
		}
		if last != nil {
			discard(last)
		}
		if c.entry == nil {
			v.kept.add(c, v.cfg.Clock())
		}
		resp, found, why, err := v.pay(c)
		if err != nil || found != refused {
			return resp, err
		}
		p.drop(o.Method, o.Network, "the seller refused the payment: %s", why)
		last = resp
	}
	if last != nil {
		return last, nil
	}
	return nil, p.refusal()
}

// stops reports whether a reason rules out every other method as well.
func stops(ctx context.Context, reason error) bool {
	return errors.Is(reason, ErrNotApproved) || errors.Is(reason, ErrPurchaseBusy) || isUndecided(reason) || ctx.Err() != nil
}

// against records why an offer is not used.
func (p *purchase) against(o Offer, reason error) {
	p.drop(o.Method, o.Network, "%v", reason)
	if p.reason == nil {
		p.reason = reason
	}
}

// refusal returns the error of a purchase that was not made.
func (p *purchase) refusal() error {
	if p.reason == nil {
		p.reason = ErrNoMethod
	}
	return &PaymentError{Reason: p.reason, URL: shown(p.request.URL), Offers: p.offers, Dropped: p.dropped}
}

// prepare checks an offer against every limit, asks for approval and makes the
// credential. The money is reserved first, and released if that fails.
func (p *purchase) prepare(o Offer) (*credential, error) {
	ctx := p.request.Context()
	if limit := p.maxPrice(ctx); o.AmountMicros > limit {
		return nil, fmt.Errorf("%w: asked %s USD by %s, allowed %s", ErrTooExpensive, o.Price(), o.Method, usd(limit))
	}
	if o.Method == Mandate {
		if err := p.caps.check(ctx, o.AmountMicros); err != nil {
			return nil, err
		}
	}
	e, giveBack, err := p.reserve(o)
	if err != nil {
		return nil, err
	}
	if err := p.approve(ctx, o); err != nil {
		giveBack()
		return nil, err
	}
	p.tried[o.Method] = true
	c, err := p.make(ctx, o, p.request, e)
	if err == nil {
		c.target, c.key = targetOf(p.request), p.key
		if e != nil {
			err = p.sending(c, e)
		}
	}
	if err != nil {
		if errors.Is(err, client.ErrOfferNotPayable) && p.unpayable < maxTries { // perhaps another one of the method is
			delete(p.tried, o.Method)
			p.unpayable++
		}
		if isUndecided(err) {
			p.journal(ctx, e, true)
		} else {
			giveBack()
		}
		return nil, err
	}
	return c, nil
}

// reserve counts a price against the limits, in the journal if there is one. The returned
// function releases a payment that was not sent.
func (p *purchase) reserve(o Offer) (e *JournalEntry, giveBack func(), err error) {
	if p.cfg.Journal == nil {
		giveBack, err = p.spent.reserve(o.AmountMicros)
		return nil, giveBack, err
	}
	if e, err = p.begin(o); err != nil {
		return nil, nil, err
	}
	return e, func() { p.forget(e) }, nil
}

// approve asks for approval once per request. An approval covers other methods to pay the
// same payee no more than the approved price.
func (p *purchase) approve(ctx context.Context, o Offer) error {
	if p.cfg.Approve == nil || (p.cfg.ApproveAboveMicros > 0 && o.AmountMicros <= p.cfg.ApproveAboveMicros) {
		return nil
	}
	if p.approved != nil {
		if o.PayTo != p.approved.PayTo || o.AmountMicros > p.approved.AmountMicros {
			return errors.New("it is not what was approved")
		}
		return nil
	}
	err := p.cfg.Approve(ctx, Purchase{
		Offer: o, HTTPMethod: p.request.Method, URL: shown(p.request.URL), Description: p.asked.description(), Offers: p.offers, Dropped: p.dropped,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotApproved, err)
	}
	p.approved = &o
	return nil
}

// usd formats an amount in dollars, as a decimal.
func usd(micros int64) string { return Offer{AmountMicros: micros}.Price() }

// shown returns a URL without its query and user, which may be secret.
func shown(u *url.URL) string { return Origin(u) + u.EscapedPath() }

// discard reads the rest of a short response, so that its connection can be reused, and
// closes it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}
