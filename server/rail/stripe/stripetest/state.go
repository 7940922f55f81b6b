package stripetest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// state is what an account has. Its maps are guarded by the server's mutex.
type state struct {
	last     int
	keys     map[string]*stored
	methods  map[string]*method
	payments map[string]*intent
	pages    map[string]*page
	refunds  map[string]*refund
	people   map[string]*customer
	order    []string // ids of payments and refunds, the oldest first
}

func newState() state {
	return state{
		keys: map[string]*stored{}, methods: map[string]*method{}, payments: map[string]*intent{}, pages: map[string]*page{},
		refunds: map[string]*refund{}, people: map[string]*customer{},
	}
}

// id returns a new id.
func (s *state) id(prefix string) string {
	s.last++
	return fmt.Sprintf("%s_%08d", prefix, s.last)
}

type customer struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Email    string            `json:"email,omitempty"`
	Metadata map[string]string `json:"metadata"`
}

type method struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Type     string `json:"type"`
	Customer string `json:"customer,omitempty"`
	Card     card   `json:"card"`

	behaves string // the name of the test card
}

type card struct {
	Brand string `json:"brand"`
	Last4 string `json:"last4"`
}

// handle executes a request.
func (s *Server) handle(r *http.Request) reply {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1"), "/"), "/")
	at := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	post := r.Method == http.MethodPost
	switch {
	case at(0) == "customers" && at(1) != "" && !post:
		if one := s.people[at(1)]; one != nil {
			return reply{http.StatusOK, one}
		}
		return noSuch()
	case at(0) == "customers" && post:
		one := &customer{ID: s.id("cus"), Object: "customer", Email: r.PostForm.Get("email"), Metadata: metadata(r.PostForm)}
		s.people[one.ID] = one
		return reply{http.StatusOK, one}
	case at(0) == "setup_intents" && post:
		return s.setUp(r.PostForm)
	case at(0) == "checkout":
		return s.checkout(post, at(2), at(3), r.PostForm)
	case at(0) == "payment_methods" && at(2) == "detach":
		return s.detach(at(1))
	case at(0) == "payment_intents":
		return s.paymentIntents(post, at(1), at(2), r.Form)
	case at(0) == "refunds" && post:
		return s.refundPayment(r.PostForm)
	case at(0) == "refunds" && at(1) != "":
		if one, ok := s.refunds[at(1)]; ok {
			return reply{http.StatusOK, one}
		}
		return noSuch()
	case at(0) == "refunds":
		return s.list(r.Form, func(id string) (any, int64, bool) {
			one, ok := s.refunds[id]
			if !ok || (r.Form.Get("payment_intent") != "" && r.Form.Get("payment_intent") != one.PaymentIntent) {
				return nil, 0, false
			}
			return one, one.Created, true
		})
	}
	s.t.Errorf("stripetest has no %s %s", r.Method, r.URL.Path)
	return noSuch()
}

func noSuch() reply {
	return failure(http.StatusNotFound, "invalid_request_error", "resource_missing", "")
}

// list answers a page of a list, the newest first.
func (s *Server) list(form url.Values, entry func(id string) (any, int64, bool)) reply {
	limit, _ := strconv.Atoi(form.Get("limit"))
	if limit == 0 {
		limit = 10
	}
	since, _ := strconv.ParseInt(form.Get("created[gte]"), 10, 64)
	after, more, data := form.Get("starting_after"), false, []any{}
	for _, id := range slices.Backward(s.order) {
		one, created, ok := entry(id)
		if after != "" {
			if id == after {
				after = ""
			}
			continue
		}
		if !ok || created < since {
			continue
		}
		if more = len(data) == limit; more {
			break
		}
		data = append(data, one)
	}
	return reply{http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": more, "url": "/v1/list"}}
}
