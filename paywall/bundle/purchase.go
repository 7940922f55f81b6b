package bundle

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/paywall"
)

// maxOrder is the longest order that is accepted, in bytes.
const maxOrder = 256 << 10

// minKey is the shortest Idempotency-Key of an order without a mandate.
const minKey = 16

// unavailableWait is the Retry-After of orders that cannot be taken now.
const unavailableWait = 5 * time.Second

// Order is a request to buy a bundle.
type Order struct {
	// ID identifies the order. It is the same for a repeated order, and so serves as an
	// idempotency key.
	ID string
	// Tier is the size of the bundle.
	Tier paywall.Tier
	// Mandate is the mandate that pays. It is a secret. Empty if none was sent.
	Mandate string
	// ReturnURL is the address to which a checkout redirects. It shows the bundle, so it
	// is a secret. Empty if Mandate is set.
	ReturnURL string
}

// Sale is the result of an order.
type Sale struct {
	// Paid reports whether the order is paid. The bundle is then issued at once.
	Paid bool
	// CheckoutURL is the page on which a person pays. Required if Paid is false.
	CheckoutURL string
	// TenantID is the merchant's own name for the buyer. Default: none.
	TenantID string
}

// RefusedError reports an order that is refused for a reason that the buyer can resolve.
// [Config.Sell] returns it.
type RefusedError struct {
	// Status is the HTTP status of the response: 402 or another 4xx.
	Status int
	// Code is the error code of the response.
	Code string
	// Message is the error message of the response.
	Message string
	// RetryAfter is how long the buyer should wait before repeating the order. Zero: the
	// response does not say.
	RetryAfter time.Duration
}

// Error returns the code and the message.
func (e *RefusedError) Error() string { return "bundle: " + e.Code + ": " + e.Message }

// Purchase returns a handler that lists the tiers (GET) and sells bundles (POST). Mount it
// at [Config.PurchaseURL].
//
// POST takes {"tier":"…"} and, to pay from a mandate, "mandate":"…", as JSON or as a form.
// It answers 201 with the token; 202 with "checkoutUrl" and "returnUrl" if a person has to
// pay (303 for a form); and 402 if the payment was refused. A repeated order, and a GET of
// its returnUrl, return the same bundle once it is paid. A browser that opens returnUrl is
// redirected to an address without a secret, and shows the bundle there for an hour.
func (s *Shop) Purchase() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Add("Vary", "Accept")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			if r.URL.Query().Has("key") {
				s.comeBack(w, r)
				return
			}
			if r.URL.Query().Has("order") {
				s.showReturned(w, r)
				return
			}
			if wantsPage(r) {
				s.page(w, r)
				return
			}
			writeJSON(w, http.StatusOK, map[string]any{"tiers": s.cfg.Tiers, "purchaseUrl": s.cfg.PurchaseURL, "balanceUrl": s.cfg.BalanceURL, "currency": "usd"})
		case http.MethodPost:
			s.buy(w, r)
		default:
			h.Set("Allow", "GET, HEAD, POST")
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "GET lists the tiers, POST buys one.")
		}
	})
}

// buy handles an order.
func (s *Shop) buy(w http.ResponseWriter, r *http.Request) {
	o, form, no := s.order(w, r)
	if no == nil && s.cfg.Sell == nil {
		no = &RefusedError{Status: http.StatusNotFound, Code: "not_found", Message: "Nothing is sold here."}
	}
	if no != nil {
		refuse(w, no.Status, no.Code, no.Message)
		return
	}
	b, sale, err := s.fill(r, o) // continues if the buyer disconnects
	switch {
	case err != nil:
		s.fail(w, r, o, err)
	case !sale.Paid:
		s.checkout(w, r, o, sale, form)
	default:
		writeJSON(w, http.StatusCreated, o.bought(b))
	}
}

// bought returns the response to a paid order.
func (o Order) bought(b Issued) map[string]any {
	return map[string]any{
		"bundleToken": b.Token, "tier": b.Tier, "requests": b.Requests, "creditsRemaining": b.Remaining,
		"expiresAt": b.ExpiresAt.UTC(), "orderId": o.ID,
	}
}

// order reads the order of a request.
func (s *Shop) order(w http.ResponseWriter, r *http.Request) (o Order, form bool, no *RefusedError) {
	bad := func(message string) *RefusedError {
		return &RefusedError{Status: http.StatusBadRequest, Code: "validation_error", Message: message}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOrder))
	if err != nil {
		return o, false, &RefusedError{Status: http.StatusRequestEntityTooLarge, Code: "payload_too_large", Message: "The order is too long."}
	}
	var in struct{ Tier, Mandate string }
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if form = kind == "application/x-www-form-urlencoded"; form {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return o, form, bad("The form cannot be read.")
		}
		in.Tier, in.Mandate = values.Get("tier"), values.Get("mandate")
	} else if err := json.NewDecoder(bytes.NewReader(body)).Decode(&in); err != nil {
		return o, form, bad(`Want JSON: {"tier":"…"}.`)
	}
	key := r.Header.Get(paywall.HeaderIdempotencyKey)
	if len(key) > 255 || (key != "" && len(key) < minKey && in.Mandate == "") {
		// A repeated order returns its bundle, so the key or the mandate is a secret.
		return o, form, bad("Idempotency-Key: want 16 to 255 bytes that cannot be guessed.")
	}
	var ok bool
	if o.Tier, ok = s.tier(in.Tier); !ok {
		return o, form, bad("tier: want one of those that GET lists.")
	}
	if key == "" {
		key = rand.Text()
	}
	o.Mandate, o.ID = in.Mandate, orderID(key, in.Tier, in.Mandate)
	if in.Mandate == "" {
		o.ReturnURL = s.returnURL(key, in.Tier)
	}
	return o, form, nil
}

// orderID returns the id of an order, which depends on its key, tier and mandate. Because
// of the mandate, the key of another buyer does not yield that buyer's bundle.
func orderID(key, tier, mandate string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%s", len(key), key, len(tier), tier, mandate))
	return "ord_" + hex.EncodeToString(sum[:16])
}

func (s *Shop) checkout(w http.ResponseWriter, r *http.Request, o Order, sale Sale, form bool) {
	u, err := url.Parse(sale.CheckoutURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		s.fail(w, r, o, errors.New("sell: neither paid nor a checkout URL"))
		return
	}
	if form {
		http.Redirect(w, r, u.String(), http.StatusSeeOther)
		return
	}
	writeJSON(w, http.StatusAccepted, map[string]any{
		"checkoutUrl": u.String(), "returnUrl": o.ReturnURL, "orderId": o.ID, "tiers": s.cfg.Tiers,
	})
}

func (s *Shop) fail(w http.ResponseWriter, r *http.Request, o Order, err error) {
	var no *RefusedError
	if errors.As(err, &no) && no.Status >= 400 && no.Status < 500 {
		retryafter.Set(w.Header(), no.RetryAfter)
		refuse(w, no.Status, no.Code, no.Message)
		return
	}
	text := err.Error()
	if o.Mandate != "" {
		text = strings.ReplaceAll(text, o.Mandate, "[redacted]")
	}
	s.cfg.Logger.ErrorContext(r.Context(), "bundle: not sold", slog.String("order", o.ID), slog.String("error", text))
	retryafter.Set(w.Header(), unavailableWait)
	refuse(w, http.StatusServiceUnavailable, "unavailable", "The order cannot be taken now. Send the same order again with its Idempotency-Key.")
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"code": code, "message": message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}
