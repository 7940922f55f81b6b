package paywall

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// maxOffers is the largest number of encoded offers that are kept for a route.
const maxOffers = 256

// offerCache returns the offer for a request: that of the route, or one for each price,
// payee and resource.
type offerCache struct {
	terms terms
	fixed *offer // nil if it depends on the request

	mu    sync.RWMutex
	known map[quote]*offer
}

// quote is what can differ between the offers of a route.
type quote struct {
	price, payTo, resource string
	facilitator            string // that settles the scheme upto; "" if none does
}

func newOfferCache(t terms) (*offerCache, error) {
	o := &offerCache{terms: t, known: map[quote]*offer{}}
	r := t.route
	q := quote{price: r.Price, payTo: r.PayTo, resource: t.resource.sample()}
	if q.price == "" {
		q.price = "1" // only to check that the route can be encoded
	}
	if q.payTo == "" {
		q.payTo = "0x0000000000000000000000000000000000000000"
	}
	first, err := newOffer(t, q)
	if err != nil {
		return nil, err
	}
	if r.Metered { // only to check the length with the scheme upto
		q.facilitator = "0x0000000000000000000000000000000000000000"
		if _, err := newOffer(t, q); err != nil {
			return nil, err
		}
	}
	if r.PriceFunc == nil && r.PayToFunc == nil && !t.resource.dynamic {
		o.fixed = first
	}
	return o, nil
}

// of returns the offer for a request, with the facilitator that settles the scheme upto
// or "". It returns an error if a function of the route fails or returns an invalid
// value, and a refusal if the URL of the request is too long.
func (o *offerCache) of(r *http.Request, facilitator string) (*offer, error) {
	if o.fixed != nil && facilitator == "" {
		return o.fixed, nil
	}
	q, err := o.quote(r)
	if err != nil {
		return nil, err
	}
	q.facilitator = facilitator
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

// quote returns the price, payee and resource of a request.
func (o *offerCache) quote(r *http.Request) (q quote, err error) {
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
	return &refusal{status: http.StatusRequestURITooLong, code: "uri_too_long", message: "The URL is too long for a challenge."}
}
