package conformance_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

const (
	sellerWallet = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	baseSepolia  = 84532
	price        = "10000"
)

// shop is a paywall that breaks one rule at a time. A fault changes its fields.
type shop struct {
	url string

	two, one, charge, doc map[string]any
	schema                map[string]any // of the declaration bazaar
	extensions            map[string]any
	unpaid, paid, cors    http.Header // headers of the answers
	realm                 string
	expires               time.Duration
	pad                   bool
	sameID                bool
	status                int // of a request without a payment
	preflight             int
	malformed             int // the status after a malformed credential
	problem               string
	headServes, longFails bool
	pageServes            bool
	forgetsChallenge      bool
	v1Type                string
	dynamic               atomic.Int64 // added to the price with each request, if it is above zero
	finish                func(http.Header)

	acceptsUnsigned, acceptsUnfunded                      bool
	acceptsReplay, acceptsRace, acceptsLess, acceptsOther bool
	acceptsExpired, acceptsOtherHeader                    bool
	hidesReceipt, refuses                                 string         // the header of the payment
	receipt                                               map[string]any // members of the receipt that replace those of a good one

	mu     sync.Mutex
	funded map[string]bool // by wallet, in lower case
	used   map[string]string
}

// newShop starts a paywall without a fault.
func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{
		status: http.StatusPaymentRequired, preflight: http.StatusNoContent, malformed: http.StatusPaymentRequired, v1Type: "application/json",
		expires: time.Minute, realm: "127.0.0.1", problem: "https://paymentauth.org/problems/malformed-credential",
		funded: map[string]bool{}, used: map[string]string{}, receipt: map[string]any{},
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/weather"
	token, _ := x402.USDC(baseSepolia)
	object := func(example string) map[string]any {
		return map[string]any{"type": "object", "properties": map[string]any{"sky": map[string]any{"type": "string", "const": example}}}
	}
	s.schema = map[string]any{"type": "object", "required": []any{"input"}, "properties": map[string]any{
		"input":  map[string]any{"type": "object", "required": []any{"method"}},
		"output": map[string]any{"type": "object", "properties": map[string]any{"example": object("clear")}},
	}}
	s.extensions = map[string]any{
		"bazaar": map[string]any{"schema": s.schema, "info": map[string]any{
			"input": map[string]any{"type": "http", "method": "GET"}, "output": map[string]any{"type": "json", "example": map[string]any{"sky": "clear"}},
		}},
		"payment-identifier": map[string]any{"info": map[string]any{"required": false}, "schema": map[string]any{}},
	}
	s.two = map[string]any{
		"scheme": "exact", "network": "eip155:84532", "amount": price, "asset": token.Address, "payTo": sellerWallet, "maxTimeoutSeconds": 60,
		"extra": map[string]any{"name": "USDC", "version": "2", "paymentFlow": "upfront"},
	}
	s.one = map[string]any{
		"scheme": "exact", "network": "base-sepolia", "maxAmountRequired": price, "asset": token.Address, "payTo": sellerWallet,
		"resource": s.url, "description": "", "mimeType": "", "maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USDC", "version": "2"},
	}
	s.charge = map[string]any{
		"amount": price, "currency": token.Address, "recipient": sellerWallet,
		"methodDetails": map[string]any{"chainId": baseSepolia, "credentialTypes": []any{"authorization"}, "decimals": 6},
	}
	s.doc = map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "shop", "version": "1"}, "paths": map[string]any{
		"/weather": map[string]any{"get": map[string]any{
			"x-payment-info": map[string]any{"amount": price, "currency": token.Address, "intent": "charge", "method": "evm"},
			"responses":      map[string]any{"200": map[string]any{"description": "ok"}, "402": map[string]any{"description": "pay"}},
		}},
	}}
	vary := "PAYMENT-SIGNATURE, X-PAYMENT, Authorization"
	s.cors = http.Header{
		"Access-Control-Allow-Origin":   {"*"},
		"Access-Control-Expose-Headers": {"PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt"},
		"Access-Control-Allow-Headers":  {"PAYMENT-SIGNATURE, X-PAYMENT, Authorization"},
	}
	s.unpaid = http.Header{"Cache-Control": {"no-store"}, "Vary": {vary}}
	s.paid = http.Header{"Cache-Control": {"private"}, "Vary": {vary}}
	return s
}

// paying returns a configuration with a wallet that has money.
func (s *shop) paying(t *testing.T, budget int64) conformance.Config {
	t.Helper()
	key, err := evm.ParseKey(strings.Repeat("42", 32))
	require.NoError(t, err)
	w, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)
	s.funded[strings.ToLower(w.Address())] = true
	return conformance.Config{URL: s.url, Wallet: w, BudgetMicros: budget}
}

// countingWallet adds up what it signs for a payee within the transfer's window.
type countingWallet struct {
	agent.Wallet
	to     string
	signed atomic.Int64
	latest atomic.Int64 // the latest ValidBefore
}

func (w *countingWallet) SignTransfer(ctx context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error) {
	value, err := strconv.ParseInt(a.Value, 10, 64)
	if err != nil {
		return "", err
	}
	if strings.EqualFold(a.To, w.to) && a.ValidBeforeTime().After(time.Now()) {
		w.signed.Add(value)
	}
	w.latest.Store(max(w.latest.Load(), a.ValidBeforeTime().Unix()))
	return w.Wallet.SignTransfer(ctx, chainID, asset, a)
}

// operation returns the operation of the document.
func (s *shop) operation() map[string]any {
	return s.doc["paths"].(map[string]any)["/weather"].(map[string]any)["get"].(map[string]any)
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, values := range s.cors {
		h[name] = values
	}
	switch {
	case r.URL.Path == "/openapi.json":
		h.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.doc)
	case r.Method == http.MethodOptions:
		w.WriteHeader(s.preflight)
	case r.Method == http.MethodHead && s.headServes:
		w.WriteHeader(http.StatusOK)
	case strings.Contains(r.Header.Get("Accept"), "text/html") && s.pageServes:
		w.WriteHeader(http.StatusOK)
	default:
		s.gate(w, r)
	}
}

// gate looks for a payment.
func (s *shop) gate(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{"PAYMENT-SIGNATURE", "X-PAYMENT", "Authorization"} {
		value := r.Header.Get(name)
		if value == "" {
			continue
		}
		offered, exact, err := readPayment(name, value)
		if len(value) > 16<<10 && s.longFails {
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			s.ask(w, s.malformed, s.problem, s.forgetsChallenge)
			return
		}
		if problem := s.judge(name, offered, exact); problem != "" || s.refuses == name {
			s.ask(w, http.StatusPaymentRequired, problem, false)
			return
		}
		s.serve(w, name, exact)
		return
	}
	s.ask(w, s.status, "", false)
}

// readPayment returns the payment of a header, and the amount that it claims was asked.
func readPayment(name, value string) (string, x402.Exact, error) {
	switch name {
	case "PAYMENT-SIGNATURE":
		p, err := x402.DecodePayload(value)
		return p.Accepted.Amount, p.Payload, err
	case "X-PAYMENT":
		p, err := x402.DecodePayloadV1(value)
		return price, p.Payload, err
	}
	c, err := mpp.ParseCredential(value)
	if err != nil {
		return "", x402.Exact{}, err
	}
	a, err := mpp.DecodeAuthorization(c.Payload)
	return price, x402.Exact{Signature: a.Signature, Authorization: x402.Authorization{
		From: a.From, To: a.To, Value: a.Value, ValidAfter: a.ValidAfter, ValidBefore: a.ValidBefore, Nonce: a.Nonce,
	}}, err
}

// judge settles a payment, and returns why it is refused.
func (s *shop) judge(name, offered string, e x402.Exact) string {
	a := e.Authorization
	until, _ := strconv.ParseInt(a.ValidBefore, 10, 64)
	switch {
	case strings.Trim(e.Signature, "0x") == "":
		return refuseUnless(s.acceptsUnsigned)
	case a.Value != price || offered != price:
		return refuseUnless(s.acceptsLess)
	case !strings.EqualFold(a.To, sellerWallet):
		return refuseUnless(s.acceptsOther)
	case until <= time.Now().Unix():
		return refuseUnless(s.acceptsExpired)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.funded[strings.ToLower(a.From)] {
		return refuseUnless(s.acceptsUnfunded)
	}
	switch before, ok := s.used[a.Nonce]; {
	case !ok:
		if s.acceptsRace { // the nonce is written down too late
			s.mu.Unlock()
			time.Sleep(50 * time.Millisecond) // the settlement
			s.mu.Lock()
		}
		s.used[a.Nonce] = name
		return ""
	case before != name:
		return refuseUnless(s.acceptsOtherHeader)
	case s.acceptsReplay:
		return ""
	}
	return "replayed"
}

func refuseUnless(accepts bool) string {
	if accepts {
		return ""
	}
	return "refused"
}

// serve answers a paid request.
func (s *shop) serve(w http.ResponseWriter, name string, e x402.Exact) {
	h := w.Header()
	for key, values := range s.paid {
		h[key] = values
	}
	receipt := map[string]any{"success": true, "transaction": e.Authorization.Nonce, "network": "eip155:84532", "payer": e.Authorization.From}
	switch name {
	case "X-PAYMENT":
		receipt["network"] = "base-sepolia"
	case "Authorization":
		receipt = map[string]any{"method": "evm", "reference": e.Authorization.Nonce, "status": "success", "timestamp": time.Now().Format(time.RFC3339)}
	}
	for key, value := range s.receipt {
		key, only, limited := strings.Cut(key, " ")
		if _, has := receipt[key]; has && (!limited || (only == "v2" && name == "PAYMENT-SIGNATURE")) {
			receipt[key] = value
		}
	}
	data, _ := json.Marshal(receipt)
	header := map[string]string{"PAYMENT-SIGNATURE": "PAYMENT-RESPONSE", "X-PAYMENT": "X-PAYMENT-RESPONSE", "Authorization": "Payment-Receipt"}[name]
	if s.hidesReceipt != name {
		h.Set(header, map[bool]*base64.Encoding{true: base64.RawURLEncoding, false: base64.StdEncoding}[header == "Payment-Receipt"].EncodeToString(data))
	}
	_, _ = io.WriteString(w, `{"sky":"clear"}`)
}

// ask answers with the challenges.
func (s *shop) ask(w http.ResponseWriter, status int, problem string, bare bool) {
	h := w.Header()
	for key, values := range s.unpaid {
		h[key] = values
	}
	if more := s.dynamic.Load(); more > 0 {
		s.dynamic.Add(1)
		amount := strconv.FormatInt(10_000+more, 10)
		s.two["amount"], s.one["maxAmountRequired"], s.charge["amount"] = amount, amount, amount
	}
	h.Set("Content-Type", s.v1Type)
	if !bare {
		resource := map[string]any{"url": s.url}
		if other, ok := s.two["resource"]; ok {
			resource["url"] = other
		}
		data, _ := json.Marshal(map[string]any{"x402Version": 2, "resource": resource, "accepts": []any{s.two}, "extensions": s.extensions})
		h.Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString(data))
		h.Set("WWW-Authenticate", s.challenge())
	}
	if s.finish != nil {
		s.finish(h)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"x402Version": 1, "error": "pay", "accepts": []any{s.one}, "type": problem})
}

var ids atomic.Int64

// challenge returns a challenge of the Payment scheme.
func (s *shop) challenge() string {
	request, _ := mpp.EncodeJSON(s.charge)
	if s.pad {
		data, _ := json.MarshalIndent(s.charge, "", " ")
		request = base64.RawURLEncoding.EncodeToString(data)
	}
	c := mpp.Challenge{ID: fmt.Sprint("ch_", ids.Add(1)), Realm: s.realm, Method: "evm", Intent: "charge", Request: request}
	if s.sameID {
		c.ID = "ch"
	}
	if s.expires != 0 {
		c.Expires = time.Now().Add(s.expires).UTC().Format(time.RFC3339)
	}
	header, err := c.Header()
	if err != nil {
		return "Payment"
	}
	return header
}

func TestShopIsAPaywall(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	resp, err := http.Get(s.url)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
}
