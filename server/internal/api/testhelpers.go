package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// Sandbox configures the test helpers.
type Sandbox struct {
	// Key is the key that callers send as X-Service-Test-Helper-Key. If it is empty, Open
	// decides.
	Key string
	// Open admits all callers if there is no Key.
	Open bool
	// Advance advances the service's clock. Default: the clock cannot be advanced.
	Advance func(time.Duration)
	// NewMerchant creates a merchant with credentials.
	NewMerchant func(ctx context.Context, n TestMerchant) (ledger.Merchant, string, error)
}

// TestMerchant describes a merchant to create. A zero MaxCharge means no limit.
type TestMerchant struct {
	Name      string
	MaxCharge ledger.Micros
	Inactive  bool
}

// maxAdvance limits one step of the movable clock; [clock.Last] limits the sum.
const maxAdvance = 10 * 366 * 24 * time.Hour

// helperKeyHeader carries the key of the test helpers.
const helperKeyHeader = "X-Service-Test-Helper-Key"

// testHelpers returns the routes that only a sandbox has. They need no merchant's
// credentials, but a key if the sandbox is not at a loopback address.
func (a *API) testHelpers() []route {
	const base = "POST /v1/test_helpers/"
	routes := []route{
		{base + "mandates/session/{sessionToken}/complete", helper(a, a.completeSession)},
		{base + "mandates/session/{sessionToken}/fail", helper(a, a.failSession)},
		{base + "payments/{transactionId}/reverse", helper(a, a.reversePayment)},
		{base + "merchants", helper(a, a.newMerchant)},
		{base + "errors", helper(a, a.answerWith)},
	}
	if a.Sandbox.Advance != nil {
		routes = append(routes, route{base + "clock/advance", helper(a, a.advanceClock)})
	}
	return routes
}

func helper[In any](a *API, endpoint func(context.Context, *http.Request, In) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		err := a.takeAddress(r.Context(), w.Header(), helpers)
		if err == nil {
			if err = a.Sandbox.admit(r); err != nil {
				a.Audit.Record(r.Context(), audit.AuthenticationFailed, slog.String("route", r.Pattern))
			}
		}
		if err == nil {
			err = httpjson.Decode(w, r, &in)
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		body, err := endpoint(r.Context(), r, in)
		a.answer(w, r, reply{Body: body}, err)
	})
}

// admit reports whether a request may use the test helpers.
func (s *Sandbox) admit(r *http.Request) error {
	want, got := sha256.Sum256([]byte(s.Key)), sha256.Sum256([]byte(r.Header.Get(helperKeyHeader)))
	switch {
	case s.Key == "" && !s.Open:
		return refuse(client.ErrUnauthorized, "The test helpers of a service that others can reach need a key. "+
			"Set test_helper_key in its configuration and send it as "+helperKeyHeader+".")
	case s.Key == "" && !loopback.Name(hostname(r.Host)):
		return refuse(client.ErrUnauthorized, "Without a key, the test helpers serve requests to a loopback address alone.")
	case s.Key != "" && subtle.ConstantTimeCompare(want[:], got[:]) != 1:
		return refuse(client.ErrUnauthorized, helperKeyHeader+" is missing or wrong.")
	}
	return nil
}

// hostname returns a Host header without the port.
func hostname(host string) string {
	u := url.URL{Host: host}
	return u.Hostname()
}

type completeBody struct {
	PaymentMethod        string   `json:"paymentMethod"`  // default: card_visa
	PaymentMethods       []string `json:"paymentMethods"` // to connect several
	MaxPerTxCents        int64    `json:"maxPerTxCents"`
	MaxMonthlySpendCents int64    `json:"maxMonthlySpendCents"`
	limitsBody
	ExpiresAt          time.Time `json:"expiresAt"`
	AllowedMerchantIDs []string  `json:"allowedMerchantIds"`
	Email              string    `json:"email"`
}

// completeSession confirms a session like a person on the setup page.
func (a *API) completeSession(ctx context.Context, r *http.Request, in completeBody) (any, error) {
	token := r.PathValue("sessionToken")
	s, err := a.Payments.Session(ctx, token)
	if err != nil {
		return nil, err
	}
	c := payment.Confirmation{Terms: s.Terms, Methods: in.PaymentMethods, Email: in.Email}
	switch {
	case in.PaymentMethod != "":
		c.Methods = append([]string{in.PaymentMethod}, c.Methods...)
	case len(c.Methods) == 0:
		c.Methods = []string{"card_visa"}
	}
	if err := narrow(&c.Terms, in); err != nil {
		return nil, err
	}
	if s.Status == ledger.SessionPending && !c.Terms.Narrows(s.Terms) {
		return nil, invalid("maxPerTxCents", "or another limit is wider than the session's; a person can only narrow them")
	}
	m, err := a.Payments.Confirm(ctx, token, c)
	if err != nil {
		return nil, err
	}
	a.Audit.Did(ctx, audit.Person(m.ID), "mandate.confirm", m.ID, slog.String("merchantId", m.MerchantID))
	a.Audit.Record(ctx, audit.MandateConfirmed, slog.String("mandateId", m.ID), slog.String("merchantId", m.MerchantID))
	s, err = a.Payments.Session(ctx, token)
	return sessionView(s), err
}

// narrow applies the given limits.
func narrow(t *ledger.Terms, in completeBody) error {
	for _, l := range []struct {
		param string
		cents int64
		to    *ledger.Micros
	}{{"maxPerTxCents", in.MaxPerTxCents, &t.MaxPerTx}, {"maxMonthlySpendCents", in.MaxMonthlySpendCents, &t.MaxMonthly}} {
		if l.cents == 0 {
			continue
		}
		m, err := money.Cents(l.cents).Micros()
		if err != nil || m < 0 {
			return invalid(l.param, "must be a positive integer of US cents")
		}
		*l.to = m
	}
	t.MaxPerTx = min(t.MaxPerTx, t.MaxMonthly)
	if err := in.apply(&t.Limits); err != nil {
		return err
	}
	if !in.ExpiresAt.IsZero() {
		t.ExpiresAt = in.ExpiresAt.Truncate(time.Second)
	}
	if len(in.AllowedMerchantIDs) > 0 {
		t.Payees = in.AllowedMerchantIDs
	}
	return nil
}

func (a *API) failSession(ctx context.Context, r *http.Request, _ struct{}) (any, error) {
	token := r.PathValue("sessionToken")
	if err := a.Payments.Decline(ctx, token); err != nil {
		return nil, err
	}
	s, err := a.Payments.Session(ctx, token)
	return sessionView(s), err
}

// reversePayment takes back a payment like a chain whose blocks came undone.
func (a *API) reversePayment(ctx context.Context, r *http.Request, _ struct{}) (any, error) {
	transactionID := r.PathValue("transactionId")
	if err := a.Payments.ReverseTest(ctx, transactionID); err != nil {
		return nil, err
	}
	return client.Reversal{TransactionID: transactionID, Status: client.PaymentReversed}, nil
}

type clockBody struct {
	Seconds int64 `json:"seconds"`
}

func (a *API) advanceClock(_ context.Context, _ *http.Request, in clockBody) (any, error) {
	if in.Seconds < 1 || in.Seconds > int64(maxAdvance/time.Second) {
		return nil, invalid("seconds", "is required: a positive integer, at most ten years")
	}
	step := time.Duration(in.Seconds) * time.Second
	a.moving.Lock()
	defer a.moving.Unlock()
	if a.Clock().Add(step).After(clock.Last) {
		return nil, invalid("seconds", "would move the clock past "+clock.Last.Format(time.DateOnly))
	}
	a.Sandbox.Advance(step)
	return client.Clock{Now: a.Clock()}, nil
}

const maxName = 100 // characters

type merchantBody struct {
	Name           string `json:"name"`
	MaxChargeCents int64  `json:"maxChargeCents"` // default: no limit
	Active         *bool  `json:"active"`         // default: true
}

func (a *API) newMerchant(ctx context.Context, _ *http.Request, in merchantBody) (any, error) {
	if err := text.Check(in.Name, maxName); err != nil {
		return nil, invalid("name", err.Error())
	}
	limit, err := money.Cents(in.MaxChargeCents).Micros()
	switch {
	case err != nil || limit < 0:
		return nil, invalid("maxChargeCents", "must be a positive integer of US cents")
	case in.Name == "":
		in.Name = "Test merchant"
	}
	m, key, err := a.Sandbox.NewMerchant(ctx, TestMerchant{Name: in.Name, MaxCharge: limit, Inactive: in.Active != nil && !*in.Active})
	if err == nil {
		a.Audit.Did(ctx, audit.Merchant(m.ID), "merchant.create", m.ID)
		a.Audit.Record(ctx, audit.MerchantCreated, slog.String("merchantId", m.ID))
	}
	return client.Merchant{ID: m.ID, APIKey: key, Name: m.Name, PayTo: m.PayTo}, err
}

type errorBody struct {
	Code client.Code `json:"code"`
}

// simulated lists the errors that no request to a sandbox causes at will.
var simulated = map[client.Code]error{
	client.CodeInternal:    refuse(client.ErrInternal, "Something failed on our side, as you asked."),
	client.CodeUnavailable: &client.Error{Status: client.ErrUnavailable.Status, Code: client.CodeUnavailable, Message: "The service is busy, as you asked.", RetryAfter: time.Second},
	client.CodeRateLimited: rateLimited(time.Second),
}

// answerWith responds with an error, to test how a client handles it.
func (a *API) answerWith(_ context.Context, _ *http.Request, in errorBody) (any, error) {
	if err, ok := simulated[in.Code]; ok {
		return nil, err
	}
	return nil, invalid("code", "must be internal_error, unavailable or rate_limit_exceeded: the other errors can be had by requests")
}
