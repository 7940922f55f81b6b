package stripetest

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

type intent struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	Amount             int64             `json:"amount"`
	AmountCapturable   int64             `json:"amount_capturable"`
	AmountReceived     int64             `json:"amount_received"`
	CancellationReason string            `json:"cancellation_reason,omitempty"`
	CaptureMethod      string            `json:"capture_method"`
	Created            int64             `json:"created"`
	Currency           string            `json:"currency"`
	Customer           *string           `json:"customer"`
	LastPaymentError   map[string]any    `json:"last_payment_error"`
	LatestCharge       *charge           `json:"latest_charge"`
	Metadata           map[string]string `json:"metadata"`
	PaymentMethod      *string           `json:"payment_method"`
	Status             string            `json:"status"`
	ClientSecret       string            `json:"client_secret"`

	refunded int64
	behaves  string
}

// maxMetadata limits the keys in the metadata of an object.
const maxMetadata = 50

type charge struct {
	ID                 string              `json:"id"`
	Object             string              `json:"object"`
	Created            int64               `json:"created"`
	BalanceTransaction *balanceTransaction `json:"balance_transaction"`
}

type balanceTransaction struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
}

func (s *Server) paymentIntents(post bool, id, action string, form url.Values) reply {
	if id == "" && post {
		return s.create(form)
	}
	if id == "" {
		return s.list(form, func(id string) (any, int64, bool) {
			one, ok := s.payments[id]
			if !ok || (form.Get("customer") != "" && (one.Customer == nil || *one.Customer != form.Get("customer"))) {
				return nil, 0, false
			}
			return one, one.Created, true
		})
	}
	if id == "search" {
		return s.search(form.Get("query"))
	}
	one := s.payments[id]
	switch {
	case one == nil:
		return noSuch()
	case !post:
		return reply{http.StatusOK, one}
	case action == "confirm":
		return s.confirm(one)
	case action == "capture":
		return s.capture(one, form)
	case action == "cancel":
		return s.cancel(one, form)
	}
	changed := maps.Clone(one.Metadata)
	if maps.Copy(changed, metadata(form)); len(changed) > maxMetadata {
		return failure(http.StatusBadRequest, "invalid_request_error", "", "")
	}
	one.Metadata = changed
	return reply{http.StatusOK, one}
}

func (s *Server) create(form url.Values) reply {
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if err != nil || amount < 50 {
		return failure(http.StatusBadRequest, "invalid_request_error", "amount_too_small", "")
	}
	one := &intent{
		ID: s.id("pi"), Object: "payment_intent", Amount: amount, CaptureMethod: form.Get("capture_method"), Created: s.now().Unix(),
		Currency: form.Get("currency"), Metadata: metadata(form), Status: "requires_payment_method",
	}
	one.ClientSecret = one.ID + "_secret_canary"
	if name := form.Get("payment_method"); name != "" {
		m := s.methods[name]
		if m == nil || m.Customer == "" || m.Customer != form.Get("customer") {
			return failure(http.StatusBadRequest, "invalid_request_error", "resource_missing", "")
		}
		owner := m.Customer
		one.Customer, one.PaymentMethod, one.Status, one.behaves = &owner, &name, "requires_confirmation", m.behaves
	}
	s.payments[one.ID] = one
	s.order = append(s.order, one.ID)
	return reply{http.StatusOK, one}
}

func unexpected() reply {
	return failure(http.StatusBadRequest, "invalid_request_error", "payment_intent_unexpected_state", "")
}

func (s *Server) confirm(one *intent) reply {
	if one.Status != "requires_confirmation" {
		return unexpected()
	}
	switch one.behaves {
	case "pm_card_chargeCustomerFail":
		return s.decline(one, "card_declined", "generic_decline")
	case "pm_card_authenticationRequired":
		return s.decline(one, "authentication_required", "authentication_required")
	case "pm_card_processing":
		one.Status = "processing"
		return reply{http.StatusOK, one}
	case "pm_card_requiresAction":
		one.Status = "requires_action"
		return reply{http.StatusOK, one}
	}
	one.LatestCharge = &charge{ID: s.id("ch"), Object: "charge", Created: s.now().Unix()}
	if one.CaptureMethod == "manual" {
		one.Status, one.AmountCapturable = "requires_capture", one.Amount
		return reply{http.StatusOK, one}
	}
	s.receive(one, one.Amount)
	return reply{http.StatusOK, one}
}

func (s *Server) receive(one *intent, amount int64) {
	one.Status, one.AmountReceived, one.AmountCapturable = "succeeded", amount, 0
	if one.LatestCharge == nil {
		one.LatestCharge = &charge{ID: s.id("ch"), Object: "charge", Created: s.now().Unix()}
	}
	one.LatestCharge.BalanceTransaction = &balanceTransaction{ID: s.id("txn"), Object: "balance_transaction", Created: s.now().Unix()}
}

func (s *Server) decline(one *intent, code, decline string) reply {
	a := failure(http.StatusPaymentRequired, "card_error", code, decline)
	one.Status = "requires_payment_method"
	one.LastPaymentError = map[string]any{
		"type": "card_error", "code": code, "decline_code": decline,
		"payment_method": map[string]any{"id": *one.PaymentMethod, "object": "payment_method"},
	}
	one.PaymentMethod = nil
	a.body.(map[string]any)["error"].(map[string]any)["payment_intent"] = one //nolint:forcetypeassert // made by failure
	return a
}

func (s *Server) capture(one *intent, form url.Values) reply {
	if one.Status != "requires_capture" {
		return unexpected()
	}
	amount, err := strconv.ParseInt(form.Get("amount_to_capture"), 10, 64)
	if err != nil || amount < 1 || amount > one.AmountCapturable {
		return failure(http.StatusBadRequest, "invalid_request_error", "amount_too_large", "")
	}
	s.receive(one, amount)
	return reply{http.StatusOK, one}
}

func (s *Server) cancel(one *intent, form url.Values) reply {
	if one.Status == "succeeded" || one.Status == "canceled" || one.Status == "processing" {
		return unexpected()
	}
	one.Status, one.CancellationReason, one.AmountCapturable = "canceled", form.Get("cancellation_reason"), 0
	return reply{http.StatusOK, one}
}

// search answers the query metadata['key']:'value'.
func (s *Server) search(query string) reply {
	rest := strings.TrimPrefix(query, "metadata['")
	key, rest, _ := strings.Cut(rest, "']:'")
	value := strings.TrimSuffix(rest, "'")
	data, until := []any{}, s.now().Add(-s.delay).Unix()
	for _, id := range s.order {
		if one := s.payments[id]; one != nil && one.Metadata[key] == value && one.Created <= until {
			data = append(data, one)
		}
	}
	return reply{http.StatusOK, map[string]any{"object": "search_result", "data": data, "has_more": false, "url": "/v1/payment_intents/search"}}
}
