package bundle

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// returnURL returns the address that shows an order after its checkout. It holds the key
// of the order, which is a secret, and a signature, because only a POST may create an
// order.
func (s *Shop) returnURL(key, tier string) string {
	return s.purchaseURL(func(q url.Values) {
		q.Set("key", key)
		q.Set("tier", tier)
		q.Set("sig", s.cfg.Keys[0].mac(key, tier))
	})
}

// purchaseURL returns the purchase address with a further query.
func (s *Shop) purchaseURL(set func(url.Values)) string {
	u, err := url.Parse(s.cfg.PurchaseURL)
	if err != nil { // cannot happen: it was checked
		return ""
	}
	q := u.Query()
	set(q)
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

// returned is what a return address has.
type returned struct{ key, tier, signature string }

// comeBack answers a request to the return address of an order: with the bundle if the
// order is paid, otherwise with its checkout. It creates no order. A browser is redirected
// first, so that the key is neither in its address bar nor in its history.
func (s *Shop) comeBack(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back := returned{q.Get("key"), q.Get("tier"), q.Get("sig")}
	o, ok := s.orderOf(back)
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "not_found", "There is no such order.")
	case wantsPage(r):
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure if the address is https
			Name: s.cookie(), Value: back.encode(), Path: "/", MaxAge: cookieLifetime, HttpOnly: true, Secure: s.secure(), SameSite: http.SameSiteLaxMode,
		})
		w.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(w, r, s.purchaseURL(func(q url.Values) { q.Set("order", o.ID) }), http.StatusSeeOther)
	default:
		b, sale, err := s.fill(r, o)
		switch {
		case err != nil:
			s.fail(w, r, o, err)
		case !sale.Paid:
			s.checkout(w, r, o, sale, false)
		default:
			writeJSON(w, http.StatusOK, o.bought(b))
		}
	}
}

// orderOf returns the order of a return address, and reports whether there is one.
func (s *Shop) orderOf(b returned) (Order, bool) {
	t, ok := s.tier(b.tier)
	if !ok || len(b.key) < minKey || len(b.key) > 255 || s.cfg.Sell == nil || !s.ours(b.key, b.tier, b.signature) {
		return Order{}, false
	}
	return Order{ID: orderID(b.key, b.tier, ""), Tier: t, ReturnURL: s.returnURL(b.key, b.tier)}, true
}

// showReturned shows a browser the order that comeBack redirected it to.
func (s *Shop) showReturned(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(s.cookie())
	var o Order
	var ok bool
	if err == nil {
		o, ok = s.orderOf(decodeReturned(cookie.Value))
	}
	if !ok || o.ID != r.URL.Query().Get("order") {
		s.showOrder(w, r, http.StatusForbidden, orderPage{
			Badge: "Not shown", Headline: "This browser does not have the order",
			Text:  "Open the checkout page again, and follow its link from there. The browser must accept the cookie of this site.",
			Again: s.cfg.PurchaseURL,
		})
		return
	}
	b, sale, err := s.fill(r, o)
	var no *RefusedError
	switch {
	case err != nil && errors.As(err, &no) && no.Status != http.StatusTooManyRequests:
		s.showOrder(w, r, no.Status, orderPage{Badge: "Not paid", Headline: "Nothing was bought", Text: no.Message, Again: s.cfg.PurchaseURL})
	case err != nil:
		s.fail(w, r, o, err)
	case !sale.Paid:
		s.showOrder(w, r, http.StatusOK, orderPage{Badge: "Waiting", Headline: "Not paid yet", Text: "Your bundle appears here once it is paid.", Checkout: sale.CheckoutURL})
	default:
		s.showOrder(w, r, http.StatusOK, orderPage{
			Badge: "Paid", Headline: "Your bundle", Token: b.Token, Tier: b.Tier, Left: b.Remaining, Requests: b.Requests,
			Until: b.ExpiresAt.UTC().Format("2 January 2006"),
			Text:  "Send this token in the header X-Bundle-Token. Anyone who has it can use the credits, so keep it secret, and copy it now.",
		})
	}
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// cookieLifetime is the lifetime of the cookie in seconds.
const cookieLifetime = 3600

func (s *Shop) secure() bool { return strings.HasPrefix(s.cfg.PurchaseURL, "https:") }

// cookie returns the name of the cookie. Only https allows the prefix.
func (s *Shop) cookie() string {
	if s.secure() {
		return "__Host-bundle-order"
	}
	return "bundle-order"
}

func (b returned) encode() string {
	code := base64.RawURLEncoding.EncodeToString
	return code([]byte(b.key)) + "." + code([]byte(b.tier)) + "." + code([]byte(b.signature))
}

func decodeReturned(text string) (b returned) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return returned{}
	}
	for i, to := range []*string{&b.key, &b.tier, &b.signature} {
		decoded, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return returned{}
		}
		*to = string(decoded)
	}
	return b
}
