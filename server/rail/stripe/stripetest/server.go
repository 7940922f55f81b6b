// Package stripetest is a Stripe API for tests: stripe-mock, which validates each request
// against Stripe's OpenAPI description, behind a handler with a state, which answers it.
//
//	s := stripetest.Start(t)
//	r, err := stripe.New(stripe.Config{Key: stripetest.Key, BaseURL: s.URL})
//
// The state covers what the rail uses: customers, test cards, setups, Checkout in setup mode,
// payment intents, refunds, idempotency keys, search and lists. A request that stripe-mock
// rejects fails the test. [Server.Inject] loses requests and answers.
package stripetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"
)

// Key is an API key of test mode, LiveKey one of live mode, and Secret signs the events.
const (
	Key     = "sk_test_stripetest"
	LiveKey = "sk_live_stripetest"
	Secret  = "whsec_stripetest"
)

// Server is a Stripe account. It is safe for concurrent use.
type Server struct {
	// URL is the address of the API.
	URL string

	t     testing.TB
	mock  http.Handler
	http  *httptest.Server
	mu    sync.Mutex
	fault func(*http.Request) Fault
	now   func() time.Time
	delay time.Duration // of the search index
	state
}

// Start starts an account without any objects. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	mock, err := validator()
	require.NoError(t, err)
	s := &Server{t: t, mock: mock, now: time.Now, fault: func(*http.Request) Fault { return None }, state: newState()}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(s.http.Close)
	return s
}

// validator is stripe-mock, loaded once.
var validator = sync.OnceValues(func() (http.Handler, error) {
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		return nil, err
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		return nil, err
	}
	stub, err := server.NewStubServer(fixtures, spec, false, false)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(stub.HandleRequest), nil
})

// Inject sets the function that decides the fault of each request.
func (s *Server) Inject(fault func(*http.Request) Fault) { s.locked(func() { s.fault = fault }) }

// UseClock sets the clock. Default: time.Now.
func (s *Server) UseClock(now func() time.Time) { s.locked(func() { s.now = now }) }

// DelaySearch lets the search index be behind.
func (s *Server) DelaySearch(by time.Duration) { s.locked(func() { s.delay = by }) }

// ForgetKeys forgets all idempotency keys, as Stripe does after a day.
func (s *Server) ForgetKeys() { s.locked(func() { s.keys = map[string]*stored{} }) }

func (s *Server) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// serve validates a request and answers it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		answer(w, failure(http.StatusBadRequest, "invalid_request_error", "", ""), false)
		return
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+Key && got != "Bearer "+LiveKey {
		answer(w, failure(http.StatusUnauthorized, "invalid_request_error", "", ""), false)
		return
	}
	s.validate(r)
	var fault Fault
	s.locked(func() { fault = s.fault(r) })
	if fault.before(w, r) {
		return
	}
	a, again := s.once(r, fault)
	if fault.after(w, r, a) {
		return
	}
	answer(w, a, again)
}

// validate has stripe-mock check a request.
func (s *Server) validate(r *http.Request) {
	target, body := r.URL.String(), ""
	if r.Method == http.MethodPost {
		body = r.PostForm.Encode()
	}
	copied := httptest.NewRequestWithContext(r.Context(), r.Method, target, strings.NewReader(body))
	copied.Header = r.Header.Clone()
	copied.Header.Set("Authorization", "Bearer sk_test_123")
	recorded := httptest.NewRecorder()
	s.mock.ServeHTTP(recorded, copied)
	if recorded.Code >= http.StatusBadRequest {
		s.t.Errorf("stripe-mock rejects %s %s %s: %s", r.Method, target, body, recorded.Body)
	}
}

// reply is an answer of the API.
type reply struct {
	status int
	body   any
}

// stored is the answer to a key, or its absence while the first request runs.
type stored struct {
	request string
	done    bool
	reply   reply
}

// once answers a request, and one with a key only once. What the execution answered is stored
// for the key, a refusal (400, 404) too; of a request that was not executed, nothing is.
func (s *Server) once(r *http.Request, fault Fault) (a reply, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || key == "" {
		return frozen(s.handle(r)), false
	}
	request := r.URL.Path + "?" + r.PostForm.Encode()
	if was, known := s.keys[key]; known {
		switch {
		case was.request != request:
			return failure(http.StatusBadRequest, "idempotency_error", "", ""), false
		case !was.done:
			return failure(http.StatusConflict, "idempotency_error", "idempotency_key_in_use", ""), false
		}
		return was.reply, true
	}
	this := &stored{request: request}
	s.keys[key] = this
	s.mu.Unlock()
	time.Sleep(time.Millisecond) // another request with the key finds it in use
	s.mu.Lock()
	switch fault {
	case StoredFailure:
		a = failure(http.StatusInternalServerError, "api_error", "", "")
	case StoredFailureWithEffect:
		s.handle(r)
		a = failure(http.StatusInternalServerError, "api_error", "", "")
	case StoredRefusal:
		a = unexpected()
	default:
		a = s.handle(r)
	}
	this.done, this.reply = true, frozen(a)
	return this.reply, false
}

// frozen returns a reply that later changes of its objects do not change.
func frozen(a reply) reply {
	text, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	return reply{a.status, json.RawMessage(text)}
}

func answer(w http.ResponseWriter, a reply, again bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_stripetest")
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	text, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // the client may have gone
}

// failure returns an error of the API.
func failure(status int, kind, code, decline string) reply {
	body := map[string]any{"type": kind, "message": "stripetest: " + kind + " " + code}
	if code != "" {
		body["code"] = code
	}
	if decline != "" {
		body["decline_code"] = decline
	}
	return reply{status, map[string]any{"error": body}}
}

// metadata returns the metadata in a form.
func metadata(form url.Values) map[string]string {
	found := map[string]string{}
	for name, values := range form {
		if key, ok := strings.CutPrefix(name, "metadata["); ok {
			found[strings.TrimSuffix(key, "]")] = values[0]
		}
	}
	return found
}
