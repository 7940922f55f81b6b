package bundle

import (
	"crypto/hmac"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// returnURL returns the address that shows an order after its checkout. It holds the key
// of the order, which is a secret, and a signature, because only a POST may create an
// order.
func (s *Shop) returnURL(key, tier string) string {
	u, err := url.Parse(s.cfg.PurchaseURL)
	if err != nil { // cannot happen: it was checked
		return ""
	}
	q := u.Query()
	q.Set("key", key)
	q.Set("tier", tier)
	q.Set("sig", s.cfg.Keys[0].mac(key, tier))
	u.RawQuery = q.Encode()
	return u.String()
}

// ours reports whether this shop signed a return address.
func (s *Shop) ours(key, tier, signature string) bool {
	for _, k := range s.cfg.Keys {
		if hmac.Equal([]byte(signature), []byte(k.mac(key, tier))) {
			return true
		}
	}
	return false
}

// comeBack answers a request to the return address of an order: with the bundle if the
// order is paid, otherwise with its checkout. It creates no order.
func (s *Shop) comeBack(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	key, name := q.Get("key"), q.Get("tier")
	t, ok := s.tier(name)
	if !ok || len(key) < minKey || len(key) > 255 || s.cfg.Sell == nil || !s.ours(key, name, q.Get("sig")) {
		refuse(w, http.StatusNotFound, "not_found", "There is no such order.")
		return
	}
	o := Order{ID: orderID(key, name, ""), Tier: t, ReturnURL: s.returnURL(key, name)}
	b, sale, err := s.fill(r, o)
	page := strings.Contains(r.Header.Get("Accept"), "text/html")
	var no *RefusedError
	switch {
	case err != nil && page && errors.As(err, &no) && no.Status != http.StatusTooManyRequests:
		s.showOrder(w, r, no.Status, orderPage{Headline: "Nothing was bought", Text: no.Message, Again: s.cfg.PurchaseURL})
	case err != nil:
		s.fail(w, r, o, err)
	case !sale.Paid && page:
		s.showOrder(w, r, http.StatusOK, orderPage{Headline: "Not paid yet", Text: "Your bundle appears here once it is paid.", Checkout: sale.CheckoutURL})
	case !sale.Paid:
		s.checkout(w, r, o, sale, false)
	case page:
		s.showOrder(w, r, http.StatusOK, orderPage{
			Headline: "Your bundle", Text: "Send this token in the header X-Bundle-Token. Anyone who has it can use the credits, so keep it secret.", Token: b.Token,
		})
	default:
		writeJSON(w, http.StatusOK, o.bought(b))
	}
}
