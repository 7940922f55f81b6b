package paywall

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Canonical forms of the header names, as package http keeps them.
const (
	keyPaymentRequired = "Payment-Required"
	keyChallenge       = "Www-Authenticate"
	keyCacheControl    = "Cache-Control"
	keyExpose          = "Access-Control-Expose-Headers"
	keyVary            = "Vary"
	keyContentType     = "Content-Type"
	keyContentLength   = "Content-Length"
)

// exposed lets scripts in browsers read what a payment needs.
const exposed = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, X-Request-Id"

// varied names what an answer depends on.
const varied = "X-Bundle-Token, PAYMENT-SIGNATURE, X-PAYMENT, X-Service-Mandate, Authorization, Payment-Authorization, Idempotency-Key, Accept, Accept-Payment"

const (
	jsonType = "application/json"
	htmlType = "text/html; charset=utf-8"
	noStore  = "no-store"
)

// common sets the headers of every answer. Headers that outer middleware has set
// are added to. Go allows changing the slices of a header in place, so each answer
// has its own.
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

// addVary names what a gated answer depends on, if the handler replaced that.
func addVary(h http.Header) {
	for _, line := range h[keyVary] {
		if line == varied || line == "*" {
			return
		}
	}
	h[keyVary] = append(h[keyVary], varied)
}

// addExposed names what scripts may read, if the handler replaced that.
func addExposed(h http.Header) {
	for _, line := range h[keyExpose] {
		if line == exposed || line == "*" {
			return
		}
	}
	h[keyExpose] = append(h[keyExpose], exposed)
}

// ask answers a request that brought no credential: the price, in every protocol.
func (g *Gate) ask(w http.ResponseWriter, r *http.Request, o *offer, requestID string) {
	h := w.Header()
	values := [5]string{o.required, jsonType, noStore}
	h[keyPaymentRequired] = values[0:1:1]
	h[keyCacheControl] = values[2:3:3]
	if g.offersMPP(r.Header) {
		values[4] = o.issuer.Issue(g.clock().Add(o.window)).Header
		h[keyChallenge] = append(h[keyChallenge], values[4])
	}
	body := g.pageFor(r, o)
	if body != nil {
		values[1] = htmlType
	} else {
		body = make([]byte, 0, len(o.body)+len(requestID)+2)
		body = append(append(append(body, o.body...), requestID...), '"', '}')
	}
	values[3] = strconv.Itoa(len(body))
	h[keyContentType] = values[1:2:2]
	h[keyContentLength] = values[3:4:4]
	w.WriteHeader(http.StatusPaymentRequired)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// offersMPP reports whether the client accepts the only challenge there is. A
// malformed preference is ignored.
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

// refuse answers a request whose credential was not taken, with fresh challenges.
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
	if g.offersMPP(r.Header) {
		h[keyChallenge] = append(h[keyChallenge], o.issuer.Issue(g.clock().Add(o.window)).Header)
	}
	if no.settlement != "" {
		failed := x402.Settlement{ErrorReason: x402.Reason(reason), Network: no.network}
		h.Set(no.settlement, failed.Header())
	}
	one := o.one
	a := answer{
		PaymentRequiredV1: &one, Error: reason, Code: no.code, Message: no.message, RequestID: requestID,
		LimitCents: no.limit, RemainingMonthlySpendCents: no.remaining,
	}
	if no.problem != "" {
		a.problem(mpp.NewProblem(no.problem, no.message))
	}
	if no.code == codeNoCredits && g.bundle != nil {
		a.PurchaseURL, a.Tiers = g.bundle.PurchaseURL, g.bundle.Tiers
	}
	g.send(w, no, a)
}

// fail answers without a price: the request cannot be understood, or not now.
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
