package paywall

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/clientlimit"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Gate requires payment before a request reaches a handler. Create one with [New];
// derive gates for other routes with [Gate.With]. It is safe for concurrent use.
type Gate struct {
	*shared
	route  Route
	offers *offerCache
}

// shared is the state that a gate shares with those derived from it.
type shared struct {
	terms
	clock       func() time.Time
	logger      *slog.Logger
	redemptions Redemptions
	settler     Settler
	external    *x402.Facilitator // of version 2; nil means settler
	verifier    *mandate.Verifier
	expired     *mandate.Verifier // for mandates that have expired since they paid
	timeout     time.Duration
	bounded     bool // redemptions and settler have timeouts of their own
	clients     *clientlimit.Limits
	listing     *listing
	skip        func(*http.Request) bool
	served      func(status int) bool
	onPaid      func(*http.Request, Payment)
	onRefused   func(*http.Request, Refusal)
	own         *http.Transport // created by New; nil with Config.HTTPClient
	capturer    Capturer        // nil if prices cannot be held
	upto        *uptoFinder     // nil if the scheme upto is not offered
	refunder    Refunder        // nil unless Config.RefundUnserved
	brake       *brake          // of refunded payments
	unpaid      *brake          // of captures that were refused after their requests had run
	voided      *brake          // of requests in a row that counted something and were not served
	later       *later
	signRefund  func(context.Context, client.Refund) (string, error)
	unsigned    sync.Once // logs that it is not set

	newFacilitator func(url string) (*x402.Facilitator, error)
}

// New returns a Gate. It performs no I/O. The returned error names the invalid field.
func New(c Config) (*Gate, error) {
	owned := c.HTTPClient == nil
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &shared{
		clock: c.Clock, logger: c.Logger, redemptions: c.Redemptions, settler: c.Settler, timeout: c.CallTimeout,
		clients: newClientLimits(c), listing: &listing{logger: c.Logger},
		later: newLater(), brake: newBrake(c), unpaid: newBrake(c), voided: newBrake(c), skip: c.Skip, served: c.Served, onPaid: c.OnPaid, onRefused: c.OnRefused,
		newFacilitator: func(url string) (*x402.Facilitator, error) {
			return x402.NewFacilitator(x402.FacilitatorConfig{URL: url, Timeout: c.CallTimeout, HTTPClient: c.HTTPClient, Clock: c.Clock})
		},
	}
	if owned {
		s.own, _ = c.HTTPClient.Transport.(*http.Transport)
	}
	var err error
	if s.terms, err = newTerms(c); err != nil {
		return nil, err
	}
	if s.settler == nil {
		// Memory does not block, and every call of the service has a timeout. The functions
		// of a bundle may not have one.
		_, memory := s.redemptions.(*Memory)
		s.bounded = memory && c.CreditBundle == nil
		if s.settler, err = newService(c); err != nil {
			return nil, err
		}
	}
	if err = s.afterwards(c); err != nil {
		return nil, err
	}
	s.upto = s.newUptoFinder(c)
	if s.external, err = newExternal(c); err != nil {
		return nil, err
	}
	s.verifier, s.expired = newVerifiers(c)
	return s.gate(Route{
		Price: c.Price, PriceFunc: c.PriceFunc, PayTo: c.PayTo, PayToFunc: c.PayToFunc, Resource: c.Resource, ResourceFunc: c.ResourceFunc,
		MimeType: c.MimeType, ChallengeTTL: c.ChallengeTTL, Discovery: c.Discovery, Accepts: c.Accepts,
		Metered: c.Metered, Hold: c.Hold,
	})
}

// Must returns the gate of [New] or [Gate.Derive], and panics if there is an error. Use it for
// gates whose configuration is part of the program.
func Must(g *Gate, err error) *Gate {
	if err != nil {
		panic(err)
	}
	return g
}

// CloseIdleConnections closes the idle connections of the default HTTP client. It does
// nothing if [Config.HTTPClient] is set.
func (g *Gate) CloseIdleConnections() {
	if g.own != nil {
		g.own.CloseIdleConnections()
	}
}

// newTerms returns the network, asset, secrets and page of the configuration.
func newTerms(c Config) (t terms, err error) {
	t = terms{bundle: c.CreditBundle, apiURL: trimSlash(c.APIURL), origin: c.Origin, testMode: c.TestMode, builtIn: c.Page == nil, merchantName: c.Name, mandateURL: c.MandateURL}
	var first acceptTerms
	if first.network, err = x402.ParseNetwork(c.Network); err != nil {
		return t, field("Network", err)
	}
	if first.asset, err = newAsset(c.Asset, first.network); err != nil {
		return t, field("Asset", err)
	}
	t.accepts = []acceptTerms{first}
	secrets := c.Secrets
	if len(secrets) == 0 {
		var made [32]byte
		_, _ = rand.Read(made[:]) // never fails: crypto/rand ends the program instead
		secrets = []string{hex.EncodeToString(made[:])}
		c.Logger.Warn("paywall: no Secrets: challenges do not survive a restart and are not shared with other instances")
	}
	if t.signer, err = mpp.NewSigner(secrets...); err != nil {
		return t, field("Secrets", err)
	}
	t.page, err = newPageWriter(c)
	return t, err
}

// newExternal returns the external facilitator of x402 version 2, or nil if the settler
// settles version 2, because external facilitators refuse unsigned calls.
func newExternal(c Config) (*x402.Facilitator, error) {
	cfg := x402.FacilitatorConfig{
		URL: c.ExternalFacilitator, KeyID: c.FacilitatorKeyID, Secret: x402.Secret(c.FacilitatorSecret),
		Timeout: c.CallTimeout, HTTPClient: c.HTTPClient, Clock: c.Clock,
	}
	switch {
	case cfg.URL != "":
	case cfg.KeyID == "":
		c.Logger.Debug("paywall: no FacilitatorKeyID: the service settles x402 version 2, and no external catalog lists the resource")
		return nil, nil
	case c.Network == x402.NetworkBase:
		cfg.URL = DefaultExternalFacilitator
	case c.Network == x402.NetworkBaseSepolia:
		cfg.URL = DefaultExternalFacilitatorTest
	default:
		return nil, field("ExternalFacilitator", fmt.Errorf("is required with FacilitatorKeyID on %s", c.Network))
	}
	f, err := x402.NewFacilitator(cfg)
	if err != nil {
		return nil, fmt.Errorf("paywall: ExternalFacilitator, FacilitatorKeyID, FacilitatorSecret: %w", err)
	}
	return f, nil
}

// newClientLimits returns the limits of invalid signed transfers.
func newClientLimits(c Config) *clientlimit.Limits {
	return clientlimit.New(clientlimit.Config{PerSecond: c.UnprovenPerSecond, Proxies: c.TrustedProxies, Clock: c.Clock, Logger: c.Logger, Name: "paywall"})
}

// newVerifiers return verifiers of mandates with the published keys of the service. The
// second one accepts expired mandates.
func newVerifiers(c Config) (verifier, expired *mandate.Verifier) {
	issuer := trimSlash(c.APIURL)
	keys := &mandate.RemoteKeySource{
		URL: issuer + "/.well-known/jwks.json", HTTPClient: c.HTTPClient, Clock: c.Clock,
		Retry: defaultWait, // the Retry-After of clients, so that a repeated credential is verified
	}
	verifier = &mandate.Verifier{Issuer: issuer, Clock: c.Clock, Keys: keys}
	expired = &mandate.Verifier{Issuer: issuer, Clock: c.Clock, Keys: keys, IgnoreTimes: true, CacheSize: -1}
	return verifier, expired
}

// gate returns a gate for a route.
func (s *shared) gate(r Route) (*Gate, error) {
	if r.Hold == 0 {
		r.Hold = DefaultHold
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	if r.Metered && s.capturer == nil {
		return nil, field("Metered", errors.New("needs Merchant, or a Settler that is a Capturer: only the payee may hold a price"))
	}
	if r.Metered && r.PayToFunc != nil {
		return nil, field("Metered", errors.New("needs PayTo, not PayToFunc: only the merchant's own wallet may hold a price"))
	}
	t := s.terms
	var err error
	if t.resource, err = newResource(r, s.origin, s.testMode); err != nil {
		return nil, field("Resource", err)
	}
	r.Resource = t.resource.text
	t.route = r
	if t, err = s.withAccepts(t, r.Accepts); err != nil {
		return nil, err
	}
	offers, err := newOfferCache(t)
	if err != nil {
		return nil, err
	}
	return &Gate{shared: s, route: r, offers: offers}, nil
}

// Derive returns a gate for another route. Fields that the route does not set are those of
// this gate's route, except the resource, Discovery and Metered. The gates share secrets, redemptions
// and connections. The returned error names the invalid field.
func (g *Gate) Derive(r Route) (*Gate, error) { return g.shared.gate(r.from(g.route)) }

// With is like [Gate.Derive], but panics if the route is invalid, as [http.ServeMux] does for
// an invalid pattern. Use it for routes that are part of the program.
func (g *Gate) With(r Route) *Gate {
	derived, err := g.Derive(r)
	if err != nil {
		panic(strings.Replace(err.Error(), "paywall: ", "paywall: With: ", 1))
	}
	return derived
}

// Require returns a handler that runs next for requests that pay. [Gate.OpenAPI] and
// [Gate.LLMs] then list the route. It panics if next is nil.
func (g *Gate) Require(next http.Handler) http.Handler {
	if f, ok := next.(http.HandlerFunc); next == nil || (ok && f == nil) {
		panic("paywall: Require: nil handler")
	}
	g.listing.add(g.route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
}

// serve handles a request.
func (g *Gate) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodOptions {
		g.options(w, r, next)
		return
	}
	if g.skip != nil && g.skip(r) {
		addVary(w.Header())
		next.ServeHTTP(w, withoutCredentials(r.Context(), r))
		return
	}
	id := requestID(w.Header(), r.Header, g.clock())
	common(w.Header(), id)
	o, err := g.offers.of(r, g.facilitator(r.Context()))
	if err != nil {
		g.noOffer(w, r, id, err)
		return
	}
	found, err := find(r.Header)
	if err != nil {
		g.turnAway(w, r, o, id, found.kind, err)
		return
	}
	if found.kind == "" || g.route.Metered && r.Method == http.MethodHead { // no content, so nothing to pay for
		g.ask(w, r, o, id)
		return
	}
	g.redeem(w, r, next, &visit{Gate: g, request: r, offer: o, id: id, found: found})
}

// noOffer answers a request without a valid price.
func (g *Gate) noOffer(w http.ResponseWriter, r *http.Request, id string, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		g.logger.ErrorContext(r.Context(), "paywall: price request", slog.String("request_id", id), slog.Any("error", err))
		no = &refusal{status: http.StatusInternalServerError, code: codeInternal, message: "The price cannot be determined."}
	}
	g.fail(w, id, no)
}

// turnAway logs a refusal and answers with it.
func (g *Gate) turnAway(w http.ResponseWriter, r *http.Request, o *offer, id string, kind Credential, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		no = &refusal{status: http.StatusInternalServerError, code: codeInternal, message: "Something went wrong.", cause: err}
	}
	level := slog.LevelInfo
	if no.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("request_id", id), slog.String("credential", string(kind)), slog.Int("status", no.status), slog.String("code", no.code),
	}
	if no.cause != nil {
		attrs = append(attrs, slog.String("cause", no.cause.Error()))
	}
	g.logger.LogAttrs(r.Context(), level, "paywall: refused", attrs...)
	if g.onRefused != nil {
		g.onRefused(r, Refusal{Credential: kind, Status: no.status, Code: no.code, Message: no.message, RequestID: id})
	}
	if no.status >= http.StatusInternalServerError || no.status == http.StatusConflict ||
		no.status == http.StatusUnprocessableEntity || no.status == http.StatusTooManyRequests {
		g.fail(w, id, no)
		return
	}
	g.refuse(w, r, o, id, no)
}
