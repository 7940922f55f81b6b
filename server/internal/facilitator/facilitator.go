// Package facilitator serves x402 resource servers that settle through the service:
// GET /v1/x402/supported, POST /v1/x402/verify and POST /v1/x402/settle, versions 1
// and 2 (x402 specification v1 and v2, §7), scheme exact on EVM.
//
//	f, err := facilitator.New(facilitator.Config{Settler: rail, Clock: clock, Logger: log})
//	f.Register(mux, otherMethods)
//
// Callers need no account: the money can only reach the payee that the payer signed for.
// The package compares the declared payment with the signed one, limits the rate of
// requests, and implements the protocol; the [Settler] implements the chain.
//
// A refused payment is answered with 200, isValid or success false, and the protocol's
// reason; a malformed request with 400; a request that may be repeated with 429 or 503
// and Retry-After.
package facilitator

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
)

// Settler moves one token on one chain with signed authorizations (EIP-3009).
type Settler interface {
	// Dollar returns the network and the token.
	Dollar() (x402.Network, x402.Asset)
	// Signer returns the address that submits transactions.
	Signer() string
	// SignedByKey reports whether the payer's own key signed an authorization. It asks
	// no node, so it reports false for contract wallets.
	SignedByKey(e x402.Exact) bool
	// VerifyAuthorization reports whether an authorization would settle now for a
	// resource, without moving money. After an error, the answer is unknown.
	VerifyAuthorization(ctx context.Context, e x402.Exact, resource string) (x402.Verification, error)
	// SettleOnce settles an authorization at most once. Only one call succeeds: a repeat is
	// refused as a duplicate unless it has the idempotency key of the first call. After an
	// error the outcome is unknown; the same call returns it.
	SettleOnce(ctx context.Context, e x402.Exact, q rail.SettleRequest) (x402.Settlement, error)
	// SettlesUpto reports whether the scheme upto is settled.
	SettlesUpto() bool
	// UptoSignedByKey is SignedByKey for the scheme upto.
	UptoSignedByKey(u x402.Upto) bool
	// VerifyUpto is VerifyAuthorization for the scheme upto, and the whole amount. While the
	// payment is open, it can be verified and settled for one resource and idempotency key.
	VerifyUpto(ctx context.Context, u x402.Upto, q rail.SettleRequest) (x402.Verification, error)
	// SettleUpto is SettleOnce for the scheme upto, and an amount in base units, which may be
	// zero. A payment is settled once, for one amount.
	SettleUpto(ctx context.Context, u x402.Upto, amount string, q rail.SettleRequest) (x402.Settlement, error)
}

// Config configures a Facilitator.
type Config struct {
	// Settler verifies and settles payments. Required.
	Settler Settler
	// Transfers returns the ledger for one settlement: of a protocol, for a resource.
	// Default: settlements are not recorded.
	Transfers func(source ledger.Source, resource string) rail.TransferLedger
	// Clock is the clock of the rate limits. Required.
	Clock func() time.Time
	// Logger receives errors of the chain. Required.
	Logger *slog.Logger
	// Merchant returns the id of the merchant whose credentials a request has, or an empty
	// string if it has none. If they are wrong, it answers the request and reports false.
	// Default: credentials are ignored.
	Merchant func(http.ResponseWriter, *http.Request) (id string, ok bool)
	// Payee returns the id of the merchant who is paid at a wallet, or an empty string. Default:
	// the scheme upto is not settled for anybody.
	Payee func(ctx context.Context, payTo string) (merchantID string, err error)
	// Paid lists a resource that was paid and declares itself to directories, and returns why it
	// cannot be listed, or an empty string. It does not wait. Default: nothing is listed.
	Paid func(r x402.Resource, accepted x402.Requirements, bazaar x402.Extension) (problem string)
	// PerSecond limits the payments of one payer per second, with bursts of twice the
	// limit. The same limits apply to each merchant's payments without a valid signature,
	// and to its payments by payers who have never paid. Default: 100.
	PerSecond int
	// PerAddress limits the requests per second of one client address without a merchant's
	// credentials, counted separately: those without a valid signature or with an expired
	// one, those of payers who have never paid, and refused ones of payers who have paid.
	// Bursts may have twice the limit. Default: PerSecond.
	PerAddress int
	// Concurrent limits the payments that are checked concurrently. Default: 512.
	Concurrent int
}

func (c *Config) validate() error {
	switch {
	case c.Settler == nil:
		return errors.New("facilitator: Settler is required")
	case c.Clock == nil:
		return errors.New("facilitator: Clock is required")
	case c.Logger == nil:
		return errors.New("facilitator: Logger is required")
	case c.PerSecond < 0 || c.PerAddress < 0 || c.Concurrent < 0:
		return errors.New("facilitator: limits must not be negative")
	}
	if c.PerSecond == 0 {
		c.PerSecond = 100
	}
	if c.PerAddress == 0 {
		c.PerAddress = c.PerSecond
	}
	if c.Concurrent == 0 {
		c.Concurrent = 512
	}
	return nil
}

// Facilitator serves the three endpoints. It is safe for concurrent use.
type Facilitator struct {
	config  Config
	network x402.Network
	asset   x402.Asset
	limits  *limits
	slots   chan struct{} // one for each payment that is being checked
}

// New returns a Facilitator. The returned error names the invalid field.
func New(config Config) (*Facilitator, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	f := &Facilitator{config: config, limits: newLimits(config), slots: make(chan struct{}, config.Concurrent)}
	f.network, f.asset = config.Settler.Dollar()
	return f, nil
}

// Register adds the endpoints to mux. otherMethods returns the handler for methods that an
// endpoint does not support.
func (f *Facilitator) Register(mux *http.ServeMux, otherMethods func(allowed ...string) http.Handler) {
	for _, one := range []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodGet, "/v1/x402/supported", f.supported},
		{http.MethodPost, "/v1/x402/verify", f.from(f.verify)},
		{http.MethodPost, "/v1/x402/settle", f.from(f.settle)},
	} {
		mux.Handle(one.method+" "+one.path, one.handler)
		mux.Handle(one.path, otherMethods(one.method))
	}
}

// supported lists the payments that can be settled (specification v2 §7.3).
func (f *Facilitator) supported(w http.ResponseWriter, _ *http.Request) {
	kinds := []x402.SupportedKind{
		{X402Version: x402.Version1, Scheme: x402.SchemeExact, Network: f.network.V1},
		{X402Version: x402.Version2, Scheme: x402.SchemeExact, Network: f.network.CAIP2},
	}
	if f.config.Settler.SettlesUpto() && f.config.Payee != nil {
		kinds = append(kinds, x402.SupportedKind{
			X402Version: x402.Version2, Scheme: x402.SchemeUpto, Network: f.network.CAIP2,
			Extra: map[string]any{x402.ExtraFacilitator: f.config.Settler.Signer()},
		})
	}
	httpjson.Write(w, http.StatusOK, x402.Supported{
		Kinds:      kinds,
		Extensions: f.extensions(),
		Signers:    map[string][]string{"eip155:*": {f.config.Settler.Signer()}},
	})
}

func (f *Facilitator) verify(w http.ResponseWriter, r *http.Request, who caller) {
	var v x402.Verification
	p, no := f.take(w, r, who)
	if no == nil {
		defer func() { f.leave(p, v.IsValid, v.InvalidReason, no) }()
		v, no = f.verifyOnce(r, p)
	}
	if no != nil {
		v = x402.Verification{InvalidReason: no.reason, InvalidMessage: no.message, Payer: p.payer}
		if no.undecided() {
			v.InvalidReason = x402.ReasonVerifyError
		}
	}
	answer(w, no, v)
}

// verifyOnce verifies a payment. One of the scheme upto must be asked about with its whole
// amount.
func (f *Facilitator) verifyOnce(r *http.Request, p payment) (v x402.Verification, no *refusal) {
	var err error
	switch {
	case p.upto == nil:
		v, err = f.config.Settler.VerifyAuthorization(r.Context(), p.exact, p.resource)
	case p.amount != p.upto.Authorization.Permitted.Amount:
		return v, refuse(x402.ReasonUptoAmount, "The permit is for another amount than what is required.")
	default:
		q, no := f.settleRequest(r, p)
		if no != nil {
			return v, no
		}
		v, err = f.config.Settler.VerifyUpto(r.Context(), *p.upto, q)
	}
	if err != nil {
		return v, f.unknown(r, "verify payment", err)
	}
	return v, nil
}

func (f *Facilitator) settle(w http.ResponseWriter, r *http.Request, who caller) {
	var s x402.Settlement
	p, no := f.take(w, r, who)
	if no == nil {
		defer func() { f.leave(p, s.Success || s.ErrorReason == x402.ReasonPending, s.ErrorReason, no) }()
		s, no = f.settleOnce(r, p)
	}
	if no != nil {
		s = x402.Settlement{ErrorReason: no.reason, ErrorMessage: no.message, Payer: p.payer}
		if no.undecided() {
			s.ErrorReason = x402.ReasonSettleError
		}
	}
	s.Network = f.network.CAIP2
	if p.version == x402.Version1 {
		s.Network = f.network.V1
	}
	if s.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	if s.Success && !s.Replayed {
		f.list(w, p)
	}
	if s.ErrorReason == x402.ReasonPending {
		w.Header().Set("Retry-After", "2")
	}
	answer(w, no, s)
}

// maxKey limits the length of an idempotency key, as for charges.
const maxKey = 255

// settleRequest returns the request to a settler, with the request's idempotency key, if it
// has one.
func (f *Facilitator) settleRequest(r *http.Request, p payment) (rail.SettleRequest, *refusal) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) > 1 || len(keys) == 1 && !isKey(keys[0]) {
		return rail.SettleRequest{}, malformed(x402.ReasonInvalidPayload, "Idempotency-Key must be one value of 1 to 255 printable ASCII characters.")
	}
	return rail.SettleRequest{Resource: p.resource, IdempotencyKey: strings.Join(keys, ""), Caller: httplog.ClientNetwork(r.Context())}, nil
}

// settleOnce settles under the request's idempotency key, if it has one.
func (f *Facilitator) settleOnce(r *http.Request, p payment) (x402.Settlement, *refusal) {
	q, no := f.settleRequest(r, p)
	if no != nil {
		return x402.Settlement{}, no
	}
	if f.config.Transfers != nil {
		q.Ledger = f.config.Transfers(sourceOf(r), p.resource)
	}
	var s x402.Settlement
	var err error
	if p.upto != nil {
		s, err = f.config.Settler.SettleUpto(r.Context(), *p.upto, p.amount, q)
	} else {
		s, err = f.config.Settler.SettleOnce(r.Context(), p.exact, q)
	}
	if err != nil {
		return s, f.unknown(r, "settle payment", err)
	}
	return s, nil
}

// sourceOf returns the protocol by which the payer paid. A gate says so if it is not x402.
func sourceOf(r *http.Request) ledger.Source {
	if strings.EqualFold(r.Header.Get(x402.HeaderPaymentSource), string(ledger.SourceMPP)) {
		return ledger.SourceMPP
	}
	return ledger.SourceX402
}

func isKey(s string) bool {
	return s != "" && len(s) <= maxKey && strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}

func answer(w http.ResponseWriter, no *refusal, body any) {
	w.Header().Set("Cache-Control", "no-store")
	status := http.StatusOK
	if no != nil {
		status = no.status
		retryafter.Set(w.Header(), no.wait)
	}
	httpjson.Write(w, status, body)
}

// unknown returns the refusal for an error of the chain or the store. A client that hung
// up is not logged as an error.
func (f *Facilitator) unknown(r *http.Request, what string, err error) *refusal {
	if httplog.HungUp(r.Context(), err) {
		return &refusal{status: httplog.StatusClientClosedRequest, message: "The client hung up."}
	}
	f.config.Logger.ErrorContext(r.Context(), "facilitator has no answer", slog.String("requestId", httplog.RequestID(r.Context())),
		slog.String("work", what), slog.Any("error", err))
	return &refusal{status: http.StatusServiceUnavailable, message: "The chain cannot be asked now. Send the same again.", wait: time.Second}
}
