package paywall

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// maxOffers is how many offers of one route are kept encoded.
const maxOffers = 256

// offers are the offers of one route: one, or one for each price, payee and
// resource that requests have asked for.
type offers struct {
	terms terms
	fixed *offer // nil if every request may have another

	mu    sync.RWMutex
	known map[quote]*offer
}

// quote is what can differ between the offers of a route.
type quote struct{ price, payTo, resource string }

func newOffers(t terms) (*offers, error) {
	o := &offers{terms: t, known: map[quote]*offer{}}
	r := t.route
	q := quote{price: r.Price, payTo: r.PayTo, resource: t.resource.sample()}
	if q.price == "" {
		q.price = "1" // encoded to check the route, and thrown away
	}
	if q.payTo == "" {
		q.payTo = "0x0000000000000000000000000000000000000000"
	}
	first, err := newOffer(t, q)
	if err != nil {
		return nil, err
	}
	if r.PriceFunc == nil && r.PayToFunc == nil && !t.resource.dynamic {
		o.fixed = first
	}
	return o, nil
}

// of returns the offer for a request. It returns an error if a function of the
// route does, or returns something invalid, and a refusal if the request cannot
// have an offer.
func (o *offers) of(r *http.Request) (*offer, error) {
	if o.fixed != nil {
		return o.fixed, nil
	}
	q, err := o.quote(r)
	if err != nil {
		return nil, err
	}
	o.mu.RLock()
	known := o.known[q]
	o.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := newOffer(o.terms, q)
	if errors.Is(err, errHeaderTooLong) && o.terms.resource.dynamic {
		return nil, tooLong()
	}
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= maxOffers {
		clear(o.known)
	}
	o.known[q] = made
	return made, nil
}

// quote works out what a request costs, whom it pays, and for what.
func (o *offers) quote(r *http.Request) (q quote, err error) {
	route := o.terms.route
	q = quote{price: route.Price, payTo: route.PayTo, resource: o.terms.resource.text}
	if route.PriceFunc != nil {
		price, err := route.PriceFunc(r)
		if err != nil {
			return q, fmt.Errorf("PriceFunc: %w", err)
		}
		if price != "" {
			q.price = price
		}
	}
	if route.PayToFunc != nil {
		payTo, err := route.PayToFunc(r)
		if err != nil {
			return q, fmt.Errorf("PayToFunc: %w", err)
		}
		if payTo != "" {
			q.payTo = payTo
		}
	}
	if err := checkAddress(q.payTo); err != nil {
		return q, fmt.Errorf("PayToFunc: %w", err)
	}
	if o.terms.resource.dynamic {
		q.resource, err = o.terms.resource.forRequest(r, o.terms.testMode)
		if errors.Is(err, errTooLong) {
			return q, tooLong()
		}
	}
	return q, err
}

func tooLong() *refusal {
	return &refusal{status: http.StatusRequestURITooLong, code: "uri_too_long", message: "The URL is too long to be paid for."}
}
