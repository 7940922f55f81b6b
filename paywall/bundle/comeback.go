package bundle

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// returnURL opens an order that a person pays elsewhere: with its key, which nobody
// can guess.
func (s *Shop) returnURL(key, tier string) string {
	u, err := url.Parse(s.cfg.PurchaseURL)
	if err != nil { // cannot happen: it was checked
		return ""
	}
	q := u.Query()
	q.Set("key", key)
	q.Set("tier", tier)
	u.RawQuery = q.Encode()
	return u.String()
}

// comeBack answers a person, or a program, that comes back from a checkout: with the
// bundle where it is paid, with the checkout where it is not yet.
func (s *Shop) comeBack(w http.ResponseWriter, r *http.Request) {
	key, name := r.URL.Query().Get("key"), r.URL.Query().Get("tier")
	t, ok := s.tier(name)
	if !ok || len(key) < minKey || len(key) > 255 || s.cfg.Sell == nil {
		refuse(w, http.StatusNotFound, "not_found", "There is no such order.")
		return
	}
	o := Order{ID: orderID(key, name, ""), Tier: t, ReturnURL: s.returnURL(key, name)}
	b, sale, err := s.fill(context.WithoutCancel(r.Context()), o)
	page := strings.Contains(r.Header.Get("Accept"), "text/html")
	var no *RefusedError
	switch {
	case err != nil && page && errors.As(err, &no):
		s.tell(w, r, no.Status, told{Headline: "Nothing was bought", Text: no.Message, Again: s.cfg.PurchaseURL})
	case err != nil:
		s.fail(w, r, o, err)
	case !sale.Paid && page:
		s.tell(w, r, http.StatusOK, told{Headline: "Not paid yet", Text: "The bundle is here once it is paid.", Checkout: sale.CheckoutURL})
	case !sale.Paid:
		s.checkout(w, r, o, sale, false)
	case page:
		s.tell(w, r, http.StatusOK, told{
			Headline: "Your bundle", Text: "Send this token in the header X-Bundle-Token. Who has it uses the credits, so keep it to yourself.", Token: b.Token,
		})
	default:
		writeJSON(w, http.StatusOK, o.bought(b))
	}
}
