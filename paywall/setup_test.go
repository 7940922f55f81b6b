package paywall_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	payTo    = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	payer    = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	secret   = "a secret of at least sixteen bytes"
	resource = "https://api.example.com/weather"
)

// shortTimeout is waited for by tests of a service that says nothing, and is long
// enough for a busy machine that answers at all.
const shortTimeout = 5 * time.Second

// clock is moved by tests.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) Now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *clock) Advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// world is a gate before a handler, and the service behind it.
type world struct {
	t       testing.TB
	clock   *clock
	service *service
	gate    *paywall.Gate
	served  atomic.Int64 // how often the handler ran
	handler http.HandlerFunc
	seen    paywall.Payment // what the handler saw last
	mu      sync.Mutex
}

// setup starts a service and a gate of 0.01 USDC; change alters its configuration.
func setup(t testing.TB, change func(*paywall.Config)) *world {
	t.Helper()
	w := &world{t: t, clock: newClock()}
	w.service = newService(t, w.clock)
	w.gate = w.newGate(change)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
	return w
}

func (w *world) config() paywall.Config {
	return paywall.Config{
		Price: "0.01", PayTo: payTo, APIURL: w.service.URL, TestMode: true, Resource: resource, Secrets: []string{secret},
		Clock: w.clock.Now, HTTPClient: w.service.Client(),
	}
}

func (w *world) newGate(change func(*paywall.Config)) *paywall.Gate {
	w.t.Helper()
	cfg := w.config()
	if change != nil {
		change(&cfg)
	}
	g, err := paywall.New(cfg)
	require.NoError(w.t, err)
	return g
}

// protected is the handler behind a gate.
func (w *world) protected(g *paywall.Gate) http.Handler {
	return g.Require(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.served.Add(1)
		p, ok := paywall.PaymentFrom(r.Context())
		w.mu.Lock()
		w.seen = p
		w.mu.Unlock()
		if !ok {
			http.Error(rw, "no payment in the context", http.StatusTeapot)
			return
		}
		w.handler(rw, r)
	}))
}

// ask sends one request through the gate; headers are pairs of name and value.
func (w *world) ask(headers ...string) *httptest.ResponseRecorder {
	return w.through(w.gate, headers...)
}

func (w *world) through(g *paywall.Gate, headers ...string) *httptest.ResponseRecorder {
	return w.send(g, request(http.MethodGet, headers...))
}

func (w *world) send(g *paywall.Gate, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.protected(g).ServeHTTP(rec, r)
	return rec
}

func request(method string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, resource, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// body is the JSON of an answer.
func body(t testing.TB, rec *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &m), rec.Body.String())
	return m
}

// service is an HTTP server that behaves as the service and facilitator do, by
// their written rules: one settlement a key or authorization, replays marked.
// Tests bend it by intercept.
type service struct {
	*httptest.Server
	t       testing.TB
	clock   *clock
	key     *ecdsa.PrivateKey
	session *ecdsa.PrivateKey

	mu        sync.Mutex
	first     map[string]string // answers by idempotency key or authorization
	transfers int               // how often money moved
	calls     map[string]int
	mandates  []client.PaywallSettlementParams
	headers   []http.Header
	requests  []string // bodies of transfer settlements
	verdict   string   // answer of verify, instead of its own
	verifier  http.HandlerFunc
	ends      []string // captures, voids and refunds that were made
	usage     *client.Usage
	upto      string // address that settles the scheme upto; empty: supported does not answer
	refunds   client.RefundStatus
	refusal   string // error code for mandates, instead of settling
	intercept func(w http.ResponseWriter, r *http.Request, settle func()) bool
}

func newService(t testing.TB, c *clock) *service {
	t.Helper()
	s := &service{t: t, clock: c, key: newKey(t), session: newKey(t), first: map[string]string{}, calls: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/jwks.json", s.keys)
	mux.HandleFunc("POST /v1/paywall/settle", s.settleMandate)
	mux.HandleFunc("POST /v1/payments/{id}/{end}", s.endPayment)
	mux.HandleFunc("GET /v1/x402/supported", s.supports)
	mux.HandleFunc("POST /v1/x402/verify", s.verify)
	mux.HandleFunc("POST /v1/x402/settle", s.settleTransfer)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls[r.URL.Path]++
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return k
}

func (s *service) keys(w http.ResponseWriter, r *http.Request) {
	public, err := mandate.NewPublicKey(&s.key.PublicKey)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	set, err := mandate.NewKeySet(mandate.Key{PublicKey: public, State: mandate.KeyCurrent})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	set.Handler().ServeHTTP(w, r)
}

// count is how often a path was called, moved how often money moved.
func (s *service) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[path]
}

func (s *service) moved() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transfers
}

// bend makes the service answer differently; settle does what it would have done.
func (s *service) bend(f func(w http.ResponseWriter, r *http.Request, settle func()) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// verifies makes verify answer differently; nil as it would.
func (s *service) verifies(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verifier = f
}

// once settles for a key, or gives the first result again.
func (s *service) once(w http.ResponseWriter, r *http.Request, key string, result func(n int) string) {
	s.mu.Lock()
	intercept := s.intercept
	s.mu.Unlock()
	settle := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, done := s.first[key]; !done {
			s.transfers++
			s.first[key] = result(s.transfers)
		}
	}
	if intercept != nil && intercept(w, r, settle) {
		return
	}
	s.mu.Lock()
	_, replayed := s.first[key]
	s.mu.Unlock()
	settle()
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(w, s.first[key])
}

// lastNonce is the nonce of the authorization that was sent to settle last.
func (s *service) lastNonce() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var req struct{ PaymentPayload x402.Payload }
	require.NoError(s.t, json.Unmarshal([]byte(s.requests[len(s.requests)-1]), &req))
	return req.PaymentPayload.Payload.Authorization.Nonce
}

func transaction(n int) string { return fmt.Sprintf("0x%064x", n) }

func (s *service) settleMandate(w http.ResponseWriter, r *http.Request) {
	var p client.PaywallSettlementParams
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.mandates = append(s.mandates, p)
	s.headers = append(s.headers, r.Header.Clone())
	refusal := s.refusal
	s.mu.Unlock()
	if refusal != "" {
		status, code, _ := strings.Cut(refusal, " ")
		n := 0
		_, _ = fmt.Sscan(status, &n)
		w.WriteHeader(n)
		_, _ = fmt.Fprintf(w, `{"code":%q,"message":"The mandate does not allow it.","requestId":"req_1","limitCents":500}`, code)
		return
	}
	s.once(w, r, "mandate:"+p.IdempotencyKey, func(n int) string {
		if p.Metered {
			return s.hold(n)
		}
		return fmt.Sprintf(`{"success":true,"transaction":%q,"network":"eip155:84532","payer":%q,"transactionId":"txn_%d"}`, transaction(n), payer, n)
	})
}

func (s *service) verify(w http.ResponseWriter, r *http.Request) {
	var req struct{ PaymentPayload x402.Payload }
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	verifier := s.verifier
	s.mu.Unlock()
	if verifier != nil {
		verifier(w, r)
		return
	}
	if s.verdict != "" {
		_, _ = io.WriteString(w, s.verdict)
		return
	}
	if strings.HasPrefix(req.PaymentPayload.Payload.Signature, "0xbad") {
		_, _ = io.WriteString(w, `{"isValid":false,"invalidReason":"invalid_exact_evm_payload_signature"}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"isValid":true,"payer":%q}`, req.PaymentPayload.Payload.Authorization.From)
}

func (s *service) settleTransfer(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	var req struct {
		PaymentPayload      x402.Payload
		PaymentRequirements struct{ Network string }
	}
	if err := json.Unmarshal(data, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, string(data))
	s.headers = append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	if req.PaymentPayload.Accepted.Scheme == x402.SchemeUpto {
		s.settleUpto(w, r, data)
		return
	}
	a := req.PaymentPayload.Payload.Authorization
	if strings.HasPrefix(req.PaymentPayload.Payload.Signature, "0xbad") {
		_, _ = fmt.Fprintf(w, `{"success":false,"errorReason":"invalid_exact_evm_payload_signature","transaction":"","network":%q}`, req.PaymentRequirements.Network)
		return
	}
	s.once(w, r, "transfer:"+strings.ToLower(a.From+a.Nonce), func(n int) string {
		return fmt.Sprintf(`{"success":true,"transaction":%q,"network":%q,"payer":%q}`, transaction(n), req.PaymentRequirements.Network, a.From)
	})
}

// mandate issues a mandate; change alters its terms.
func (s *service) mandate(change func(*mandate.Terms)) mandate.Token {
	s.t.Helper()
	public, err := mandate.NewPublicKey(&s.session.PublicKey)
	require.NoError(s.t, err)
	now := s.clock.Now()
	terms := mandate.Terms{
		ID: "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF", Limits: mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 5000},
		Payees: []mandate.Payee{mandate.AnyPayee()}, Rails: []mandate.Rail{mandate.CardRail, mandate.ChainRail},
		IssuedAt: now.Add(-time.Hour), ExpiresAt: now.Add(30 * 24 * time.Hour), SessionKey: public,
		Status: &mandate.StatusRef{Index: 7, URI: s.URL + "/status/1"},
	}
	if change != nil {
		change(&terms)
	}
	issuer := mandate.Issuer{URL: s.URL, Signer: mandate.FixedSigner(s.key)}
	token, err := issuer.Issue(context.Background(), terms)
	require.NoError(s.t, err)
	return token
}

// present binds a mandate to a payment; change alters what it is bound to.
func (s *service) present(m mandate.Token, nonce string, change func(*mandate.Binding)) string {
	s.t.Helper()
	b := mandate.Binding{
		Audience: "https://api.example.com", Nonce: nonce, IssuedAt: s.clock.Now(),
		Transaction: mandate.TransactionData{AmountMicros: 10_000, PayTo: payTo, Network: "eip155:84532", Resource: resource},
	}
	if change != nil {
		change(&b)
	}
	token, err := mandate.Present(m, s.session, b)
	require.NoError(s.t, err)
	return token.Reveal()
}
