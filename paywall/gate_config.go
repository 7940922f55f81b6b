package paywall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/x402"
)

// Defaults of [Config].
const (
	// DefaultChallengeTTL is the default of [Config.ChallengeTTL].
	DefaultChallengeTTL = 60 * time.Second
	// DefaultCallTimeout is the default of [Config.CallTimeout].
	DefaultCallTimeout = 20 * time.Second
	// DefaultUnprovenPerSecond is the default of [Config.UnprovenPerSecond].
	DefaultUnprovenPerSecond = 10
	// DefaultHold is the default of [Route.Hold].
	DefaultHold = time.Hour
	// DefaultMimeType is the default of [Config.MimeType].
	DefaultMimeType = "application/json"
)

// Defaults of [Config.ExternalFacilitator].
const (
	// DefaultExternalFacilitator is the external facilitator on Base.
	DefaultExternalFacilitator = "https://api.cdp.coinbase.com/platform/v2/x402"
	// DefaultExternalFacilitatorTest is the external facilitator on Base Sepolia.
	DefaultExternalFacilitatorTest = "https://x402.org/facilitator"
)

// Config configures a [Gate]. Printed or logged, it shows no secret.
type Config struct {
	// Price is the price of a request in US dollars, a decimal with at most six decimals:
	// "0.01". Required, unless PriceFunc is set.
	Price string
	// PriceFunc returns the price of a request in the form of Price, or "" for Price. It
	// must return the same price when the client repeats the request to pay. If it returns
	// an error, the gate answers 500. Default: Price for every request.
	PriceFunc func(*http.Request) (string, error)
	// PayTo is the wallet that is paid, with its EIP-55 checksum. Required, unless PayToFunc
	// is set.
	PayTo string
	// PayToFunc returns the wallet that a request pays, or "" for PayTo. It has the rules of
	// PriceFunc. Default: PayTo for every request.
	PayToFunc func(*http.Request) (string, error)
	// TestMode selects the test network, Base Sepolia instead of Base, and allows http with
	// loopback addresses. Default: false.
	TestMode bool
	// APIURL is the base URL of the service, without /v1. The service settles payments and
	// issues mandates. Required.
	APIURL string

	// Resource is the absolute URL that clients request, without the query. Clients reject a
	// 402 that names a different URL, and directories list the endpoint under it. It may be a
	// pattern, "https://api.example.com/reports/{id}", whose wildcards are filled from the
	// request. If Origin is set, it may be a path. Required, unless Origin or ResourceFunc is
	// set.
	Resource string
	// Origin is the scheme and host of the API as clients see it: "https://api.example.com".
	// The resource of a route without Resource is the requested path under Origin. Default:
	// none.
	Origin string
	// ResourceFunc returns the absolute URL of a request. If it returns an error, the gate
	// answers 500. Default: Resource, or the requested path under Origin.
	ResourceFunc func(*http.Request) (string, error)
	// MimeType is the media type of the response. Default: application/json.
	MimeType string
	// ChallengeTTL is how long a challenge can be paid, in whole seconds, at most an hour.
	// Default: 60 s.
	ChallengeTTL time.Duration
	// CreditBundle sells and redeems prepaid requests. Default: none.
	CreditBundle *CreditBundle
	// Discovery describes the endpoint to directories. Default: not described.
	Discovery *Discovery
	// Metered makes Price the most that a request costs; see [Route.Metered]. Default: false.
	Metered bool
	// Hold is how long the price of a metered request is held; see [Route.Hold]. Default:
	// [DefaultHold].
	Hold time.Duration

	// Skip reports whether a request is served without payment, for example because it has a
	// subscriber's API key. Default: no request is.
	Skip func(*http.Request) bool
	// Served reports whether a response with this status is what was paid for. If it is not,
	// the payment stays unfulfilled, and the same credential is accepted again. Default: any
	// status below 400 except 304, and no response to HEAD.
	Served func(status int) bool
	// OnPaid is called for each payment that is settled, before the handler runs; for a price
	// that was held, after it was captured. It should return quickly. Default: none.
	OnPaid func(*http.Request, Payment)
	// RefundUnserved refunds a payment by mandate if its request was not served because of the
	// handler: it answered 500 or above, panicked, or called [Decline]. The same credential is
	// then not accepted again. Requires Merchant, or a Settler that is a [Refunder]. Default:
	// false; the credential of an unserved payment stays good for [HonoredFor].
	RefundUnserved bool
	// MaxUnserved is the number of payments of one mandate that are refunded within
	// [UnservedWindow] because their requests were not served. The gate answers further
	// payments of the mandate 503 with Retry-After, and does not take them: a handler that
	// keeps failing would otherwise pay and refund without end. On metered routes, it is also the
	// number of captures of one mandate or wallet that are refused after its requests ran, and
	// of requests in a row that count an amount and are then not served: further ones are
	// answered 429. Each instance counts by itself. Default: [DefaultMaxUnserved]. Negative: no
	// limit.
	MaxUnserved int
	// SignRefund signs a refund on the chain with the wallet that was paid, and returns the
	// signature; [client.Refund].Signature is what to sign. The gate has compared it with the
	// payment: it gives at most what was paid to the wallet that paid. A
	// [github.com/paywarrant/paywarrant/x402/evm.Wallet] does it for a key in memory. Only with
	// RefundUnserved. Default: payments on the chain are not refunded, and their credentials
	// stay good.
	SignRefund func(ctx context.Context, r client.Refund) (signature string, err error)
	// OnRefused is called for each credential that is refused, before the response. It should
	// return quickly. Default: none.
	OnRefused func(*http.Request, Refusal)

	// Secrets sign challenges of the Payment scheme. The first signs and all verify, so that
	// secrets can be rotated. Each has at least 16 bytes, and all instances have the same.
	// Default: a random secret that does not survive a restart.
	Secrets []string

	// Network is the CAIP-2 name of the chain: "eip155:31337". Default: Base, or Base Sepolia
	// in test mode.
	Network string
	// Asset is the token in which requests are paid. It must be worth one US dollar. Default:
	// USDC if it is known on Network; otherwise required.
	Asset *Asset
	// Accepts are further tokens in which requests can be paid. Each 402 lists all of them.
	// Default: none.
	Accepts []Accept

	// Facilitator is the base URL of the facilitator that settles x402 and the Payment
	// scheme, to which /verify and /settle are appended. Default: the service, APIURL +
	// "/v1/x402".
	Facilitator string
	// ExternalFacilitator is the base URL of a facilitator that verifies and settles x402
	// version 2 instead of Facilitator. It requires FacilitatorKeyID and FacilitatorSecret,
	// except at a loopback address. Default: with these keys [DefaultExternalFacilitator] on
	// Base and [DefaultExternalFacilitatorTest] on Base Sepolia; without them Facilitator,
	// and no external catalog lists the resource.
	ExternalFacilitator string
	// FacilitatorKeyID is the id (UUID) of the key that signs calls to ExternalFacilitator.
	// Default: none.
	FacilitatorKeyID string
	// FacilitatorSecret is that key, base64 of 64 bytes: an Ed25519 seed and public key.
	// Required with FacilitatorKeyID.
	FacilitatorSecret string
	// Merchant holds the credentials that are sent to the service with every settlement. They
	// are those of the merchant whose wallet PayTo is. Required for metered routes and
	// RefundUnserved. Default: the service finds the merchant by PayTo.
	Merchant Merchant
	// Settler settles payments instead of calls to the service; Facilitator is then not used.
	// A program that embeds the service does not need it: with the service's Transport in
	// HTTPClient, calls do not use the network. Default: the service over HTTP.
	Settler Settler

	// UnprovenPerSecond limits the invalid signed transfers of one client address per second,
	// with bursts of ten times as many. Transfers above the limit are answered 429 without a
	// call to the facilitator. Valid transfers do not count, nor do those of payers who paid
	// from the same address within the last hour. IPv6 addresses count by their /64.
	// Default: 10. Negative: no limit.
	UnprovenPerSecond int
	// TrustedProxies lists the addresses of the proxies that forward requests. The client
	// address is the last one in X-Forwarded-For or Forwarded that is not a trusted proxy;
	// these headers are ignored on connections from other addresses. Default: none; the
	// client address is that of the connection, so all clients of a proxy share one limit.
	TrustedProxies []netip.Prefix

	// Redemptions remembers which credentials were redeemed. Several instances must share an
	// [SQL]. Default: a [Memory] of [DefaultMaxRedemptions] credentials.
	Redemptions Redemptions
	// Name is the merchant's name on the page that browsers get with a 402. Default: the host
	// of the resource.
	Name string
	// MandateURL is the address at which a person gets a mandate for agents, for example the
	// merchant's own page that creates a setup session. The page links to it. Default: none.
	MandateURL string
	// Page writes the page that browsers get with a 402. It is called for each request. If it
	// returns an error, the response is JSON. Default: a built-in page, on which a person pays
	// with a wallet in the browser or goes on to buy a bundle. It has a strict content security
	// policy, and cannot show a response that redirects to another origin.
	Page func(w io.Writer, r *http.Request, p PageData) error
	// NoPage sends JSON to browsers too. Default: false.
	NoPage bool

	// CallTimeout bounds one call to the service or a facilitator. Default: 20 s.
	CallTimeout time.Duration
	// HTTPClient makes these calls. Redirects are not followed. Default: a client with
	// http.DefaultTransport and more idle connections per host, which
	// [Gate.CloseIdleConnections] closes.
	HTTPClient *http.Client
	// Logger logs refusals and errors, never credentials. Default: none.
	Logger *slog.Logger
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Asset is a token that supports EIP-3009; see [x402.Asset]. Its Decimals are 6 to 18, and 6
// by default.
type Asset = x402.Asset

// Merchant holds the credentials of a merchant at the service.
type Merchant struct {
	// ID is the id of the merchant: mer_….
	ID string
	// APIKey is an API key of the merchant. It is a secret.
	APIKey string
}

// CreditBundle sells prepaid requests. Package bundle implements it.
type CreditBundle struct {
	// Tiers are the bundles that can be bought. Required.
	Tiers []Tier
	// PurchaseURL is the address that sells bundles. Required.
	PurchaseURL string
	// BalanceURL is the address that reports the remaining credits of a bundle. Default: none.
	BalanceURL string
	// ValidateAndDeduct checks a token and takes one credit, in one step. If it returns an
	// error, the outcome is unknown and the gate answers 503. Required.
	ValidateAndDeduct func(ctx context.Context, token string) (BundleResult, error)
	// Refund refunds the credit of a request that was not served. Default: credits are not
	// refunded.
	Refund func(ctx context.Context, token string) error
}

// Tier is one size of bundle; see [x402.Tier].
type Tier = x402.Tier

// BundleResult is the result of [CreditBundle.ValidateAndDeduct].
type BundleResult struct {
	// Valid reports whether a credit was taken.
	Valid bool
	// CreditsRemaining is the number of credits that are left.
	CreditsRemaining int64
	// TenantID is the merchant's own name for the owner of the token. May be empty.
	TenantID string
}

// withDefaults sets the defaults.
func (c Config) withDefaults() Config {
	if c.MimeType == "" {
		c.MimeType = DefaultMimeType
	}
	if c.ChallengeTTL == 0 {
		c.ChallengeTTL = DefaultChallengeTTL
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.UnprovenPerSecond == 0 {
		c.UnprovenPerSecond = DefaultUnprovenPerSecond
	}
	if c.MaxUnserved == 0 {
		c.MaxUnserved = DefaultMaxUnserved
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Transport: newTransport()}
	}
	if c.Redemptions == nil {
		c.Redemptions = NewMemory(MemoryConfig{Clock: c.Clock})
	}
	if c.Network == "" {
		c.Network = x402.NetworkBase
		if c.TestMode {
			c.Network = x402.NetworkBaseSepolia
		}
	}
	return c
}

// newTransport returns a transport with more idle connections per host than the default,
// because all calls go to one or two hosts.
func newTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// validate checks the fields that are not those of the route. The returned error names the
// first invalid one.
func (c Config) validate() error {
	if err := checkURL(c.APIURL, c.TestMode, false); err != nil {
		return field("APIURL", err)
	}
	if c.Origin != "" {
		if err := checkURL(c.Origin, c.TestMode, false); err != nil {
			return field("Origin", err)
		}
		if c.Origin != origin(c.Origin) {
			return field("Origin", errors.New("want only a scheme and a host"))
		}
	}
	if c.MandateURL != "" {
		if err := checkURL(c.MandateURL, c.TestMode, true); err != nil {
			return field("MandateURL", err)
		}
	}
	if c.Facilitator != "" {
		if err := checkURL(c.Facilitator, c.TestMode, false); err != nil {
			return field("Facilitator", err)
		}
	}
	if c.ExternalFacilitator != "" {
		if err := checkURL(c.ExternalFacilitator, c.TestMode, false); err != nil {
			return field("ExternalFacilitator", err)
		}
		if c.FacilitatorKeyID == "" && !loopback.Host(host(c.ExternalFacilitator)) {
			return field("ExternalFacilitator", errors.New("needs FacilitatorKeyID and FacilitatorSecret: external facilitators refuse unsigned calls"))
		}
	}
	if (c.FacilitatorKeyID == "") != (c.FacilitatorSecret == "") {
		return field("FacilitatorKeyID", errors.New("want both FacilitatorKeyID and FacilitatorSecret, or neither"))
	}
	if (c.Merchant.ID == "") != (c.Merchant.APIKey == "") {
		return field("Merchant", errors.New("want both ID and APIKey, or neither"))
	}
	if c.CallTimeout < 0 {
		return field("CallTimeout", errors.New("is negative"))
	}
	if slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return !p.IsValid() }) {
		return field("TrustedProxies", errors.New("has an invalid prefix"))
	}
	if c.Page != nil && c.NoPage {
		return field("NoPage", errors.New("is set together with Page"))
	}
	return c.validateBundle()
}

func (c Config) validateBundle() error {
	b := c.CreditBundle
	if b == nil {
		return nil
	}
	if b.ValidateAndDeduct == nil {
		return field("CreditBundle.ValidateAndDeduct", errors.New("is required"))
	}
	if err := checkURL(b.PurchaseURL, c.TestMode, true); err != nil {
		return field("CreditBundle.PurchaseURL", err)
	}
	if b.BalanceURL != "" {
		if err := checkURL(b.BalanceURL, c.TestMode, true); err != nil {
			return field("CreditBundle.BalanceURL", err)
		}
	}
	if len(b.Tiers) == 0 {
		return field("CreditBundle.Tiers", errors.New("is empty"))
	}
	for i, t := range b.Tiers {
		if t.Name == "" || t.USDCents <= 0 || t.Requests <= 0 {
			return field(fmt.Sprintf("CreditBundle.Tiers[%d]", i), errors.New("want a name, a price and a number of requests"))
		}
	}
	return nil
}

// field returns an error with the name of the invalid field.
func field(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		name, err = name+"."+inner.name, inner.err
	}
	return &fieldError{name, err}
}

type fieldError struct {
	name string
	err  error
}

func (e *fieldError) Error() string { return "paywall: " + e.name + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

// Format hides every secret for every verb.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "paywall.Config{Price:%q PayTo:%q Resource:%q APIURL:%q TestMode:%t}", c.Price, c.PayTo, c.Resource, c.APIURL, c.TestMode)
}

// LogValue hides every secret.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("price", c.Price), slog.String("pay_to", c.PayTo), slog.String("resource", c.Resource),
		slog.String("api_url", c.APIURL), slog.Bool("test_mode", c.TestMode),
	)
}

// Format shows the id and hides the key, whatever the verb.
func (m Merchant) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "paywall.Merchant{ID:%q APIKey:[redacted]}", m.ID)
}

// LogValue shows the id and hides the key.
func (m Merchant) LogValue() slog.Value { return slog.StringValue(m.ID) }
