package paywall

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Header names in their canonical form.
const (
	keyPaymentRequired = "Payment-Required"
	keyChallenge       = "Www-Authenticate"
	keyCacheControl    = "Cache-Control"
	keyExpose          = "Access-Control-Expose-Headers"
	keyVary            = "Vary"
	keyContentType     = "Content-Type"
	keyContentLength   = "Content-Length"
	keyTrailer         = "Trailer"
)

// exposed lists the headers that scripts in browsers may read.
const exposed = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, X-Request-Id, " +
	HeaderIdempotencyKey + ", Retry-After, " + HeaderCreditsRemaining

// varied lists the request headers that a response depends on.
const varied = "X-Bundle-Token, PAYMENT-SIGNATURE, X-PAYMENT, X-Service-Mandate, Authorization, Payment-Authorization, Idempotency-Key, Accept, Accept-Payment"

const (
	jsonType = "application/json"
	htmlType = "text/html; charset=utf-8"
	noStore  = "no-store"
)

// common sets the headers of every response. It adds to headers that outer middleware has
// set. Header values can be changed in place, so responses do not share them.
func common(h http.Header, requestID string) {
	values := [3]string{exposed, varied, requestID}
	if h[keyExpose] == nil && h[keyVary] == nil {
		h[keyExpose], h[keyVary] = values[0:1:1], values[1:2:2]
	} else {
		h[keyExpose] = append(h[keyExpose], values[0])
		h[keyVary] = append(h[keyVary], values[1])
	}
	h[HeaderRequestID] = values[2:3:3]
}

// addVary restores Vary if the handler replaced it.
func addVary(h http.Header) {
	for _, line := range h[keyVary] {
		if line == varied || line == "*" {
			return
		}
	}
	h[keyVary] = append(h[keyVary], varied)
}

// addExposed restores Access-Control-Expose-Headers if the handler replaced it.
func addExposed(h http.Header) {
	for _, line := range h[keyExpose] {
		if line == exposed || line == "*" {
			return
		}
	}
	h[keyExpose] = append(h[keyExpose], exposed)
}

// ask answers a request without a credential: with the price, in every protocol.
func (g *Gate) ask(w http.ResponseWriter, r *http.Request, o *offer, requestID string) {
	h := w.Header()
	values := [4]string{o.required, jsonType, noStore}
	h[keyPaymentRequired] = values[0:1:1]
	h[keyCacheControl] = values[2:3:3]
	g.challengeMPP(h, r.Header, o)
	body := g.pageFor(r, o)
	if body != nil {
		values[1] = htmlType
		if g.builtIn {
			h.Set("Content-Security-Policy", pagePolicy)
			h.Set("X-Content-Type-Options", "nosniff")
		}
	} else {
		body = make([]byte, 0, len(o.body)+len(requestID)+2)
		body = append(append(append(body, o.body...), requestID...), '"', '}')
	}
	values[3] = strconv.Itoa(len(body))
	h[keyContentType] = values[1:2:2]
	h[keyContentLength] = values[3:4:4]
	w.WriteHeader(http.StatusPaymentRequired)
	_, _ = w.Write(body) // the client may have disconnected
}

// challengeMPP adds a challenge of the Payment scheme for each token, unless the client does
// not accept them.
func (g *Gate) challengeMPP(h, asked http.Header, o *offer) {
	if !g.offersMPP(asked) {
		return
	}
	expires := g.clock().Add(o.window)
	for _, a := range o.accepts {
		h[keyChallenge] = append(h[keyChallenge], a.issuer.Issue(expires).Header)
	}
}

// offersMPP reports whether the client accepts challenges of the Payment scheme. It ignores
// malformed preferences.
func (g *Gate) offersMPP(h http.Header) bool {
	list := h[mpp.HeaderAccept]
	if len(list) == 0 {
		return true
	}
	wanted, err := mpp.ParseAccept(list[0])
	if err != nil {
		return true
	}
	return mpp.Weight(wanted, mpp.MethodEVM, mpp.IntentCharge) > 0
}

// refuse answers a request whose credential was refused, with new challenges.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, o *offer, requestID string, no *refusal) {
	h := w.Header()
	reason := string(no.reason)
	if reason == "" {
		reason = no.code
	}
	two := o.two
	two.Error = reason
	if header, err := x402.EncodeHeader(two); err == nil && len(header) <= maxHeader {
		h[keyPaymentRequired] = []string{header}
	}
	g.challengeMPP(h, r.Header, o)
	if no.settlement != "" {
		failed := x402.Settlement{ErrorReason: x402.Reason(reason), Network: no.network}
		h.Set(no.settlement, failed.Header())
	}
	one := o.one
	a := answer{
		PaymentRequiredV1: &one, Error: reason, Code: no.code, Message: no.message, RequestID: requestID,
		limits: no.limits,
	}
	if no.problem != "" {
		a.problem(mpp.NewProblem(no.problem, no.message))
	}
	if no.code == codeNoCredits && g.bundle != nil {
		a.PurchaseURL, a.Tiers = g.bundle.PurchaseURL, g.bundle.Tiers
	}
	g.send(w, no, a)
}

// fail answers with an error that has no price.
func (g *Gate) fail(w http.ResponseWriter, requestID string, no *refusal) {
	g.send(w, no, answer{Error: string(no.reason), Code: no.code, Message: no.message, RequestID: requestID})
}

func (g *Gate) send(w http.ResponseWriter, no *refusal, a answer) {
	a.DocURL = docURL(a.Code)
	body, err := json.Marshal(a)
	if err != nil { // cannot happen: every member encodes
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set(keyCacheControl, noStore)
	h.Set(keyContentType, jsonType)
	h.Set(keyContentLength, strconv.Itoa(len(body)))
	retryafter.Set(h, no.wait)
	if no.key != "" {
		h.Set(HeaderIdempotencyKey, no.key)
	}
	w.WriteHeader(no.status)
	_, _ = w.Write(body)
}
