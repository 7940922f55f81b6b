package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/paywarrant/paywarrant/internal/clientlimit"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/paywall"
)

// Defaults of [Config].
const (
	// DefaultLife is the default of [Config.Life].
	DefaultLife = 365 * 24 * time.Hour
	// DefaultUnsoldPerSecond is the default of [Config.UnsoldPerSecond].
	DefaultUnsoldPerSecond = 2
)

// Config configures a [Shop].
type Config struct {
	// Issuer is the issuer and audience of tokens: the origin of the API. Required.
	Issuer string
	// Keys sign and verify tokens. The first signs and all verify. Required.
	Keys []Key
	// Tiers are the bundles that are sold. Their names must differ. Required.
	Tiers []paywall.Tier
	// PurchaseURL is the address of [Shop.Purchase]. Required.
	PurchaseURL string
	// BalanceURL is the address of [Shop.Balance]. Required.
	BalanceURL string
	// Sell takes the money for an order, or returns the page on which a person pays. It is
	// called again if the order is repeated or its return address is opened, and must take
	// the money once for an Order.ID. Default: POST sells nothing.
	Sell func(ctx context.Context, o Order) (Sale, error)
	// APIURL is the base URL of the service, without /v1. The mandates of orders are verified
	// with its published keys before Sell is called. Default: Sell gets every mandate.
	APIURL string
	// HTTPClient fetches the keys at APIURL. Redirects are not followed. Default: a client
	// with http.DefaultTransport.
	HTTPClient *http.Client
	// UnsoldPerSecond limits the orders of one client address per second that sell nothing,
	// with bursts of ten times as many. Orders above the limit are answered 429 and do not
	// reach Sell. Orders that are paid do not count. IPv6 addresses count by their /64.
	// Default: 2. Negative: no limit.
	UnsoldPerSecond int
	// TrustedProxies lists the addresses of the proxies that forward requests, as in
	// [paywall.Config]. Default: none; all clients of a proxy share one limit.
	TrustedProxies []netip.Prefix
	// Store keeps the bundles. Default: a [Memory].
	Store Store
	// Life is how long a bundle is valid. Default: [DefaultLife].
	Life time.Duration
	// Logger logs errors, never tokens. Default: none.
	Logger *slog.Logger
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Shop sells bundles and redeems their tokens. Create one with [New]. It is safe for
// concurrent use.
type Shop struct {
	cfg      Config
	parser   *jwt.Parser
	clients  *clientlimit.Limits
	verifier *mandate.Verifier // nil without APIURL
}

// New returns a Shop. It performs no I/O. The returned error names the invalid field.
func New(c Config) (*Shop, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Store == nil {
		c.Store = NewMemory()
	}
	if c.Life == 0 {
		c.Life = DefaultLife
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.UnsoldPerSecond == 0 {
		c.UnsoldPerSecond = DefaultUnsoldPerSecond
	}
	s := &Shop{cfg: c, parser: newParser(c), clients: clientlimit.New(clientlimit.Config{
		PerSecond: c.UnsoldPerSecond, Proxies: c.TrustedProxies, Clock: c.Clock, Logger: c.Logger, Name: "bundle",
	})}
	if c.APIURL != "" {
		api := strings.TrimRight(c.APIURL, "/")
		keys := &mandate.RemoteKeySource{URL: api + "/.well-known/jwks.json", HTTPClient: c.HTTPClient, Clock: c.Clock, Retry: unavailableWait}
		s.verifier = &mandate.Verifier{Issuer: api, Clock: c.Clock, Keys: keys}
	}
	return s, nil
}

// validate reports the first invalid field.
func (c Config) validate() error {
	wrong := func(field, want string) error { return fmt.Errorf("bundle: %s: %s", field, want) }
	for _, f := range []struct{ name, url string }{{"Issuer", c.Issuer}, {"PurchaseURL", c.PurchaseURL}, {"BalanceURL", c.BalanceURL}} {
		if u, err := url.Parse(f.url); err != nil || u.Host == "" {
			return wrong(f.name, "want a full URL")
		}
	}
	if len(c.Keys) == 0 || len(c.Tiers) == 0 {
		return wrong("Keys, Tiers", "want at least one of each")
	}
	for i, k := range c.Keys {
		if k.method == nil || slices.ContainsFunc(c.Keys[:i], func(o Key) bool { return o.id == k.id }) {
			return wrong(fmt.Sprintf("Keys[%d]", i), "want one of HS256 or ES256, with an id of its own")
		}
	}
	for i, t := range c.Tiers {
		if t.Name == "" || t.Requests <= 0 || t.USDCents <= 0 || slices.ContainsFunc(c.Tiers[:i], func(o paywall.Tier) bool { return o.Name == t.Name }) {
			return wrong(fmt.Sprintf("Tiers[%d]", i), "want a name of its own, a price and requests above zero")
		}
	}
	if c.Life < 0 {
		return wrong("Life", "is negative")
	}
	if u, err := url.Parse(c.APIURL); c.APIURL != "" && (err != nil || u.Host == "") {
		return wrong("APIURL", "want a full URL")
	}
	if slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return !p.IsValid() }) {
		return wrong("TrustedProxies", "has an invalid prefix")
	}
	return nil
}

// CreditBundle returns the configuration with which a gate offers these bundles and
// redeems their tokens.
func (s *Shop) CreditBundle() *paywall.CreditBundle {
	return &paywall.CreditBundle{
		Tiers: s.cfg.Tiers, PurchaseURL: s.cfg.PurchaseURL, BalanceURL: s.cfg.BalanceURL,
		ValidateAndDeduct: s.ValidateAndDeduct, Refund: s.Refund,
	}
}

// ValidateAndDeduct checks a token and takes one credit, for [paywall.CreditBundle]. If the
// token is not valid, the result says so and the error is nil. An error means that the
// outcome is unknown.
func (s *Shop) ValidateAndDeduct(ctx context.Context, token string) (paywall.BundleResult, error) {
	id, err := s.read(token)
	if err != nil {
		return paywall.BundleResult{}, nil //nolint:nilerr // an invalid token is a result
	}
	b, err := s.cfg.Store.Deduct(ctx, id, s.cfg.Clock())
	switch {
	case errors.Is(err, ErrEmpty), errors.Is(err, ErrNotFound):
		return paywall.BundleResult{TenantID: b.TenantID}, nil
	case err != nil:
		return paywall.BundleResult{}, fmt.Errorf("take a credit: %w", err)
	}
	return paywall.BundleResult{Valid: true, CreditsRemaining: b.Remaining, TenantID: b.TenantID}, nil
}

// Refund refunds the credit of a request that was not served, for [paywall.CreditBundle].
// It returns [ErrToken], and errors of the store.
func (s *Shop) Refund(ctx context.Context, token string) error {
	id, err := s.read(token)
	if err != nil {
		return err
	}
	return s.cfg.Store.Refund(ctx, id)
}

// Issued is a bundle with its token. Printed or logged, it does not show the token.
type Issued struct {
	Bundle

	// Token is the secret with which the credits are used.
	Token string
}

// Format hides the token for every verb.
func (i Issued) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, "bundle.Issued{Bundle:"+fmt.FormatString(f, verb)+" Token:[redacted]}", i.Bundle)
}

// LogValue hides the token.
func (i Issued) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("bundle", i.Bundle), slog.String("token", "[redacted]"))
}

// Issue returns the bundle of an order and its token, for merchants whose payments arrive
// after the order. It returns the same bundle if it was issued before. It returns an error
// if there is no such tier, and errors of the store.
func (s *Shop) Issue(ctx context.Context, orderID, tier, tenantID string) (Issued, error) {
	t, ok := s.tier(tier)
	if !ok {
		return Issued{}, fmt.Errorf("bundle: issue: no tier %q", tier)
	}
	now := s.cfg.Clock().Truncate(time.Second)
	b := Bundle{
		ID: bundleID(orderID), TenantID: tenantID, Tier: t.Name, Requests: t.Requests, Remaining: t.Requests,
		CreatedAt: now, ExpiresAt: now.Add(s.cfg.Life),
	}
	err := s.cfg.Store.Create(ctx, b)
	if errors.Is(err, ErrExists) {
		b, err = s.cfg.Store.Read(ctx, b.ID)
		if err == nil && (b.Tier != tier || b.TenantID != tenantID) {
			err = errors.New("bundle: the order was issued with another tier or tenant")
		}
	}
	if err != nil {
		return Issued{}, err
	}
	token, err := s.token(b)
	return Issued{b, token}, err
}

func (s *Shop) tier(name string) (paywall.Tier, bool) {
	i := slices.IndexFunc(s.cfg.Tiers, func(t paywall.Tier) bool { return t.Name == name })
	if i < 0 {
		return paywall.Tier{}, false
	}
	return s.cfg.Tiers[i], true
}

// bundleID returns the id of an order's bundle.
func bundleID(orderID string) string {
	sum := sha256.Sum256([]byte("bundle of order " + orderID))
	return "bun_" + hex.EncodeToString(sum[:16])
}
