package paywall

import (
	"fmt"
	"net/http"
	"sync"
)

// maxOffers is how many prices of one route are kept encoded.
const maxOffers = 256

// offers are the offers of one route: one, or one a price.
type offers struct {
	terms terms
	fixed *offer // of Price; nil where there is none
	price func(*http.Request) (string, error)

	mu    sync.RWMutex
	known map[string]*offer
}

func newOffers(t terms) (*offers, error) {
	o := &offers{terms: t, price: t.route.PriceFunc, known: map[string]*offer{}}
	price := t.route.Price
	if price == "" {
		price = "1" // encoded to learn now whether the route can be, and thrown away
	}
	first, err := newOffer(t, price)
	if err != nil {
		return nil, err
	}
	if t.route.Price != "" {
		o.fixed = first
	}
	return o, nil
}

// of is the offer for a request. An error where PriceFunc gives one, or no price.
func (o *offers) of(r *http.Request) (*offer, error) {
	if o.price == nil {
		return o.fixed, nil
	}
	price, err := o.price(r)
	if err != nil {
		return nil, fmt.Errorf("PriceFunc: %w", err)
	}
	if price == "" && o.fixed != nil {
		return o.fixed, nil
	}
	o.mu.RLock()
	known := o.known[price]
	o.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := newOffer(o.terms, price)
	if err != nil {
		return nil, fmt.Errorf("PriceFunc: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= maxOffers {
		clear(o.known)
	}
	o.known[price] = made
	return made, nil
}
