package stripetest

import (
	"encoding/json"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"
)

// Moved returns the cents that were received, less what was refunded.
func (s *Server) Moved() (cents int64) {
	s.locked(func() {
		for _, one := range s.payments {
			cents += one.AmountReceived - one.refunded
		}
	})
	return cents
}

// Held returns the cents that are held.
func (s *Server) Held() (cents int64) {
	s.locked(func() {
		for _, one := range s.payments {
			cents += one.AmountCapturable
		}
	})
	return cents
}

// Paid returns the number of intents with metadata that moved or hold money.
func (s *Server) Paid(key, value string) (n int) {
	s.locked(func() {
		for _, one := range s.payments {
			if one.Metadata[key] == value && (one.AmountReceived > 0 || one.AmountCapturable > 0) {
				n++
			}
		}
	})
	return n
}

// Payment returns the id of the intent with metadata.
func (s *Server) Payment(key, value string) (id string) {
	s.locked(func() {
		for _, one := range s.payments {
			if one.Metadata[key] == value {
				id = one.ID
			}
		}
	})
	return id
}

// Refunded returns the id of the refund with metadata.
func (s *Server) Refunded(key, value string) (id string) {
	s.locked(func() {
		for _, one := range s.refunds {
			if one.Metadata[key] == value {
				id = one.ID
			}
		}
	})
	return id
}

// Attached reports whether a card is attached to a customer.
func (s *Server) Attached() (is bool) {
	s.locked(func() {
		for _, one := range s.methods {
			is = is || one.Customer != ""
		}
	})
	return is
}

// Detached returns the payment methods that are attached to no customer any more.
func (s *Server) Detached() (ids []string) {
	s.locked(func() {
		for _, one := range s.methods {
			if one.Customer == "" {
				ids = append(ids, one.ID)
			}
		}
	})
	return ids
}

// PaidWith returns the payment method of the intent with metadata.
func (s *Server) PaidWith(key, value string) (method string) {
	s.locked(func() {
		for _, one := range s.payments {
			if one.Metadata[key] == value && one.PaymentMethod != nil {
				method = *one.PaymentMethod
			}
		}
	})
	return method
}

// Finish ends the payments that are processing: they succeed.
func (s *Server) Finish() {
	s.locked(func() {
		for _, one := range s.payments {
			if one.Status == "processing" {
				s.receive(one, one.Amount)
			}
		}
	})
}

// Expire ends all holds, as Stripe does after a week.
func (s *Server) Expire() {
	s.locked(func() {
		for _, one := range s.payments {
			if one.Status == "requires_capture" {
				one.Status, one.CancellationReason, one.AmountCapturable = "canceled", "expired", 0
			}
		}
	})
}

// FailRefund returns the money of a refund to the account: the payer's bank did not take it.
func (s *Server) FailRefund(id string) {
	s.locked(func() {
		one := s.refunds[id]
		one.Status, one.FailureReason = "failed", "lost_or_stolen_card"
		s.payments[one.PaymentIntent].refunded -= one.Amount
	})
}

// Event returns the body and the signature header of an event about an intent or a refund.
func (s *Server) Event(id, kind, about string, at time.Time) (body []byte, signature string) {
	var object json.RawMessage
	s.locked(func() {
		object, _ = json.Marshal(s.payments[about]) //nolint:gosec // the secret is made up
		if one := s.refunds[about]; one != nil {
			object, _ = json.Marshal(one)
		}
	})
	body, err := json.Marshal(map[string]any{
		"id": id, "object": "event", "type": kind, "created": at.Unix(), "data": map[string]any{"object": object},
	})
	if err != nil {
		panic(err)
	}
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: Secret, Timestamp: at})
	return body, signed.Header
}
