package stripetest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// cards are the test cards, by what they do.
func cards() []string {
	return []string{
		"pm_card_visa", "pm_card_chargeDeclined", "pm_card_chargeDeclinedInsufficientFunds", "pm_card_chargeDeclinedExpiredCard",
		"pm_card_chargeCustomerFail", "pm_card_authenticationRequired", "pm_card_refundFail", "pm_card_pendingRefund",
		"pm_card_processing", "pm_card_requiresAction",
	}
}

// declines are the declines of cards when they are set up.
var declines = map[string][2]string{
	"pm_card_chargeDeclined":                  {"card_declined", "generic_decline"},
	"pm_card_chargeDeclinedInsufficientFunds": {"card_declined", "insufficient_funds"},
	"pm_card_chargeDeclinedExpiredCard":       {"expired_card", ""},
}

type setup struct {
	ID            string  `json:"id"`
	Object        string  `json:"object"`
	Status        string  `json:"status"`
	Customer      string  `json:"customer"`
	PaymentMethod *method `json:"payment_method"`
}

// setUp attaches a new payment method of a test card to a customer.
func (s *Server) setUp(form url.Values) reply {
	name, owner := form.Get("payment_method"), form.Get("customer")
	if !slices.Contains(cards(), name) || s.people[owner] == nil {
		return noSuch()
	}
	if why, ok := declines[name]; ok {
		return failure(http.StatusPaymentRequired, "card_error", why[0], why[1])
	}
	return reply{http.StatusOK, s.attach(name, owner)}
}

func (s *Server) attach(name, owner string) *setup {
	one := &method{ID: s.id("pm"), Object: "payment_method", Type: "card", Customer: owner, Card: card{"visa", "4242"}, behaves: name}
	s.methods[one.ID] = one
	return &setup{ID: s.id("seti"), Object: "setup_intent", Status: "succeeded", Customer: owner, PaymentMethod: one}
}

func (s *Server) detach(id string) reply {
	one := s.methods[id]
	if one == nil || one.Customer == "" {
		return noSuch()
	}
	one.Customer = ""
	return reply{http.StatusOK, one}
}

type page struct {
	ID                string `json:"id"`
	Object            string `json:"object"`
	Mode              string `json:"mode"`
	Status            string `json:"status"`
	URL               string `json:"url,omitempty"`
	Customer          string `json:"customer"`
	ClientReferenceID string `json:"client_reference_id"`
	SetupIntent       *setup `json:"setup_intent"`

	success, notice string
}

// checkout creates or reads a Checkout session.
func (s *Server) checkout(post bool, id, action string, form url.Values) reply {
	if one := s.pages[id]; one != nil && action == "expire" {
		if one.Status != "open" {
			return failure(http.StatusBadRequest, "invalid_request_error", "", "")
		}
		one.Status = "expired"
		return reply{http.StatusOK, one}
	}
	if !post {
		if one := s.pages[id]; one != nil {
			return reply{http.StatusOK, one}
		}
		return noSuch()
	}
	one := &page{
		ID: s.id("cs_test"), Object: "checkout.session", Mode: form.Get("mode"), Status: "open", Customer: form.Get("customer"),
		ClientReferenceID: form.Get("client_reference_id"), success: form.Get("success_url"),
		notice: form.Get("custom_text[submit][message]"),
	}
	one.URL = s.URL + "/pay/" + one.ID
	s.pages[one.ID] = one
	return reply{http.StatusOK, one}
}

// Notice returns the text that the page at an address shows beside its button.
func (s *Server) Notice(address string) (text string) {
	s.locked(func() { text = s.pageAt(address).notice })
	return text
}

func (s *Server) pageAt(address string) *page {
	return s.pages[address[strings.LastIndex(address, "/")+1:]]
}

// Complete enters a test card and an email address on the page at an address that the API
// returned, and returns the address that the person is sent back to.
func (s *Server) Complete(address, testCard, email string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.pageAt(address)
	s.people[one.Customer].Email = email
	one.Status, one.URL, one.SetupIntent = "complete", "", s.attach(testCard, one.Customer)
	return strings.ReplaceAll(one.success, "{CHECKOUT_SESSION_ID}", one.ID)
}
