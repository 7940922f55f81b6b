package stripetest

import (
	"net/http"
	"net/url"
	"strconv"
)

type refund struct {
	ID            string            `json:"id"`
	Object        string            `json:"object"`
	Amount        int64             `json:"amount"`
	Created       int64             `json:"created"`
	Currency      string            `json:"currency"`
	PaymentIntent string            `json:"payment_intent"`
	Metadata      map[string]string `json:"metadata"`
	Status        string            `json:"status"`
	FailureReason string            `json:"failure_reason,omitempty"`
}

func (s *Server) refundPayment(form url.Values) reply {
	of := s.payments[form.Get("payment_intent")]
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	switch {
	case of == nil:
		return noSuch()
	case err != nil || amount < 1 || of.Status != "succeeded" || amount > of.AmountReceived-of.refunded:
		return failure(http.StatusBadRequest, "invalid_request_error", "charge_already_refunded", "")
	}
	one := &refund{
		ID: s.id("re"), Object: "refund", Amount: amount, Created: s.now().Unix(), Currency: "usd", PaymentIntent: of.ID,
		Metadata: metadata(form), Status: "succeeded",
	}
	switch of.behaves {
	case "pm_card_refundFail":
		one.Status, one.FailureReason = "failed", "unknown"
	case "pm_card_pendingRefund":
		one.Status = "pending"
	}
	if one.Status != "failed" {
		of.refunded += amount
	}
	s.refunds[one.ID] = one
	s.order = append(s.order, one.ID)
	return reply{http.StatusOK, one}
}
