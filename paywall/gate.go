package paywall

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Gate asks a price for what it stands before. Make one with [New], and more of
// its kind with [Gate.With]. Safe for concurrent use.
type Gate struct {
	*shared
	route  Route
	offers *offers
}

// shared is what gates of one kind have in common.
type shared struct {
	terms
	clock       Clock
	logger      *slog.Logger
	redemptions Redemptions
	settler     Settler
	external    *x402.Facilitator
	verifier    *mandate.Verifier
	timeout     time.Duration
	bounded     bool // redemptions and settler end by themselves: no timer is needed around them
	unfinished  *unfinished
	unsigned    sync.Once // the log says once that no catalog entry is written
	listing     *listing
}

// New makes a gate. It makes no call. An error that names the field that is wrong.
func New(c Config) (*Gate, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &shared{
		clock: c.Clock, logger: c.Logger, redemptions: c.Redemptions, settler: c.Settler, timeout: c.Timeout,
		unfinished: newUnfinished(c.Clock), listing: &listing{},
	}
	var err error
	if s.terms, err = newTerms(c); err != nil {
		return nil, err
	}
	if s.settler == nil {
		// Memory waits for nobody, and every call of the service has its own time-out;
		// the functions of a bundle are the merchant's, and may not.
		_, memory := s.redemptions.(*Memory)
		s.bounded = memory && c.CreditBundle == nil
		if s.settler, err = newService(c); err != nil {
			return nil, err
		}
	}
	if s.external, err = newExternal(c); err != nil {
		return nil, err
	}
	s.verifier = newVerifier(c)
	return s.gate(Route{
		Price: c.Price, PriceFunc: c.PriceFunc, PayTo: c.PayTo, Resource: c.Resource, MimeType: c.MimeType,
		MaxTimeout: c.MaxTimeout, Discovery: c.Discovery,
	})
}

// newTerms works out network, asset and secrets.
func newTerms(c Config) (t terms, err error) {
	t = terms{bundle: c.CreditBundle, apiURL: trimSlash(c.APIURL), testMode: c.TestMode}
	if t.network, err = x402.ParseNetwork(c.Network); err != nil {
		return t, field("Network", err)
	}
	if t.asset, err = newAsset(c.Asset, t.network); err != nil {
		return t, field("Asset", err)
	}
	secrets := c.Secrets
	if len(secrets) == 0 {
		var made [32]byte
		_, _ = rand.Read(made[:]) // never fails: crypto/rand ends the program instead
		secrets = []string{hex.EncodeToString(made[:])}
		c.Logger.Warn("paywall: no Secrets: challenges end with this process and are not shared with others")
	}
	if t.signer, err = mpp.NewSigner(secrets...); err != nil {
		return t, field("Secrets", err)
	}
	t.page, err = newPageWriter(c)
	return t, err
}

func newAsset(a *Asset, network x402.Network) (Asset, error) {
	if a == nil {
		known, ok := x402.USDC(network.ChainID)
		if !ok {
			return Asset{}, fmt.Errorf("is required: no USDC is known on %s", network.CAIP2)
		}
		return Asset(known), nil
	}
	out := *a
	if out.Decimals == 0 {
		out.Decimals = 6
	}
	if err := checkAddress(out.Address); err != nil {
		return out, field("Address", err)
	}
	if out.Name == "" || out.Version == "" {
		return out, errors.New("want Name and Version of its EIP-712 domain")
	}
	if out.Decimals < 6 || out.Decimals > 18 {
		return out, field("Decimals", errors.New("want 6 to 18"))
	}
	return out, nil
}

// newExternal is the facilitator of x402 version 2.
func newExternal(c Config) (*x402.Facilitator, error) {
	cfg := x402.FacilitatorConfig{
		URL: c.ExternalFacilitator, KeyID: c.FacilitatorKeyID, Secret: x402.Secret(c.FacilitatorSecret),
		Timeout: c.Timeout, HTTPClient: c.HTTPClient, Clock: c.Clock,
	}
	if cfg.URL == "" {
		cfg.URL = defaultExternal(c)
	}
	f, err := x402.NewFacilitator(cfg)
	if err != nil {
		return nil, fmt.Errorf("paywall: ExternalFacilitator, FacilitatorKeyID, FacilitatorSecret: %w", err)
	}
	return f, nil
}

func defaultExternal(c Config) string {
	switch {
	case loopback(host(c.APIURL)):
	case c.Network == x402.NetworkBase && !c.TestMode:
		return DefaultExternalFacilitator
	case c.Network == x402.NetworkBaseSepolia && c.TestMode:
		return DefaultExternalFacilitatorTest
	}
	if c.Facilitator != "" {
		return c.Facilitator
	}
	return trimSlash(c.APIURL) + "/v1/x402"
}

// newVerifier checks mandates of the service against its published keys.
func newVerifier(c Config) *mandate.Verifier {
	issuer := trimSlash(c.APIURL)
	return &mandate.Verifier{
		Issuer: issuer, Clock: c.Clock.Now,
		Keys: &mandate.RemoteKeySource{
			URL: issuer + "/.well-known/jwks.json", HTTPClient: c.HTTPClient, Clock: c.Clock.Now,
			Retry: defaultWait, // what clients are told to wait, so that a credential sent again then is judged
		},
	}
}

// gate makes one gate of the kind.
func (s *shared) gate(r Route) (*Gate, error) {
	if err := r.validate(s.testMode); err != nil {
		return nil, err
	}
	t := s.terms
	t.route = r
	offers, err := newOffers(t)
	if err != nil {
		return nil, err
	}
	s.listing.add(r)
	return &Gate{shared: s, route: r, offers: offers}, nil
}

// Derive makes a gate for another route: what the route leaves out is as it is
// here, and secrets, redemptions and connections are shared. An error that names
// the field that is wrong.
func (g *Gate) Derive(r Route) (*Gate, error) { return g.shared.gate(r.from(g.route)) }

// With is [Gate.Derive] for routes that are written in the program: it panics
// where the route is wrong, as a ServeMux does for a wrong pattern, so that a
// program with a wrong price does not start.
func (g *Gate) With(r Route) *Gate {
	derived, err := g.Derive(r)
	if err != nil {
		panic(strings.Replace(err.Error(), "paywall: ", "paywall: With: ", 1))
	}
	return derived
}

// Require puts the gate before a handler.
func (g *Gate) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
}

// serve is the way of every request.
func (g *Gate) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodOptions {
		passOptions(w, r, next)
		return
	}
	id := requestID(w.Header(), g.clock.Now())
	common(w.Header(), id)
	o, err := g.offers.of(r)
	if err != nil {
		g.logger.ErrorContext(r.Context(), "paywall: no price", slog.String("request_id", id), slog.Any("error", err))
		g.fail(w, id, &refusal{status: http.StatusInternalServerError, code: codeInternal, message: "The price is not known."})
		return
	}
	found, err := find(r.Header)
	if err != nil {
		g.turnAway(w, r, o, id, found.kind, err)
		return
	}
	if found.kind == "" {
		g.ask(w, r, o, id)
		return
	}
	g.redeem(w, r, next, &visit{Gate: g, request: r, offer: o, id: id, found: found})
}

// turnAway answers a refusal and logs it.
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
	if no.status >= http.StatusInternalServerError || no.status == http.StatusConflict || no.status == http.StatusUnprocessableEntity {
		g.fail(w, id, no)
		return
	}
	g.refuse(w, r, o, id, no)
}
